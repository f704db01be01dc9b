// Light and dark: what the style sheet cannot give to the map.

import { createSignal } from 'solid-js';

export type Choice = 'system' | 'light' | 'dark';

export interface Palette {
  card: number[];
  host: number[];
  leaf: number[];
  upper: number[];
  line: number[];
  own: number[];
  bundle: number[];
  down: number[];
  held: number[];
  taken: number[];
  way: number[];
  chosen: number[];
  text: string;
  onLeaf: string;
}

const light: Palette = {
  card: [255, 255, 255, 205],
  host: [146, 164, 190, 255],
  leaf: [62, 92, 134, 255],
  upper: [62, 92, 134, 255],
  line: [96, 124, 164, 60],
  own: [9, 105, 218, 130],
  bundle: [96, 124, 164, 26],
  down: [207, 34, 46, 255],
  held: [154, 103, 0, 255],
  taken: [188, 76, 0, 255],
  way: [130, 80, 223, 255],
  chosen: [9, 105, 218, 255],
  text: '#1f2937',
  onLeaf: '#ffffff',
};

const dark: Palette = {
  card: [24, 30, 39, 205],
  host: [92, 108, 132, 255],
  leaf: [104, 138, 186, 255],
  upper: [104, 138, 186, 255],
  line: [128, 158, 204, 60],
  own: [88, 166, 255, 130],
  bundle: [128, 158, 204, 26],
  down: [255, 99, 99, 255],
  held: [226, 172, 60, 255],
  taken: [255, 145, 70, 255],
  way: [188, 140, 255, 255],
  chosen: [88, 166, 255, 255],
  text: '#e6edf3',
  onLeaf: '#0b0f14',
};

const KEPT = 'heddle-theme';
const asked = window.matchMedia('(prefers-color-scheme: dark)');
const kept = localStorage.getItem(KEPT);
const [choice, setChoice] = createSignal<Choice>(kept === 'light' || kept === 'dark' ? kept : 'system');
const [systemDark, setSystemDark] = createSignal(asked.matches);
asked.addEventListener('change', () => setSystemDark(asked.matches));
export { choice };

export function isDark(): boolean {
  return choice() === 'dark' || (choice() === 'system' && systemDark());
}

export function palette(): Palette {
  return isDark() ? dark : light;
}

export function choose(wanted: Choice): void {
  localStorage.setItem(KEPT, wanted);
  setChoice(wanted);
}
