// The page begins here.

import { render } from 'solid-js/web';
import { App } from './App';
import { begin } from './live';
import { language, speak } from './words';
import './style.css';

speak(language());
begin();
const page = document.getElementById('page');
if (page) render(() => <App />, page);
