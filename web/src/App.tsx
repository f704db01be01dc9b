// The frame of every view: where to go, how the fabric stands, language and theme.

import { createEffect, createSignal, lazy, Match, onCleanup, Show, Suspense, Switch, type JSX } from 'solid-js';
import { giveToken } from './api';
import { connected, fabric, refused } from './live';
import { choice, choose, isDark, type Choice } from './theme';
import { language, ms, named, number, speak, t } from './words';
import { FabricView } from './views/Fabric';

const EventsView = lazy(() => import('./views/Events'));

const views = ['fabric', 'events'] as const;
type View = (typeof views)[number];

function viewOf(hash: string): View {
  const wanted = hash.replace(/^#\/?/, '').split('/')[0];
  return views.find((view) => view === wanted) ?? 'fabric';
}

export function App(): JSX.Element {
  const [view, setView] = createSignal<View>(viewOf(location.hash));
  const moved = (): void => {
    setView(viewOf(location.hash));
  };
  window.addEventListener('hashchange', moved);
  onCleanup(() => window.removeEventListener('hashchange', moved));
  createEffect(() => (document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'));
  createEffect(() => (document.title = `Heddle – ${t(view())}`));
  return (
    <>
      <header>
        <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById('content')?.focus(); }}>
          {t('skip')}
        </a>
        <h1 class="brand">
          <img src="./heddle.svg" alt="" />
          Heddle
        </h1>
        <nav aria-label={t('views')}>
          {views.map((each) => (
            <a href={`#/${each}`} aria-current={view() === each ? 'page' : undefined}>
              {t(each)}
            </a>
          ))}
        </nav>
        <div class="right">
          <span role="status" class="small quiet">
            <span class="dot" classList={{ on: connected() }} />
            {connected() ? t('live') : t('broken')}
          </span>
          <select aria-label={t('theme')} value={choice()} onChange={(event) => choose(event.currentTarget.value as Choice)}>
            {(['system', 'light', 'dark'] as const).map((each) => (
              <option value={each}>{t(each)}</option>
            ))}
          </select>
          <button lang={language() === 'zh' ? 'en' : 'zh-CN'} aria-label={t('languageLabel')} onClick={() => speak(language() === 'zh' ? 'en' : 'zh')}>
            {t('language')}
          </button>
        </div>
      </header>
      <Strip />
      <main id="content" tabindex="-1">
        <Show when={refused()}>
          <AskToken />
        </Show>
        <Suspense fallback={<p class="note">{t('loading')}</p>}>
          <Switch>
            <Match when={view() === 'fabric'}>
              <FabricView />
            </Match>
            <Match when={view() === 'events'}>
              <EventsView />
            </Match>
          </Switch>
        </Suspense>
      </main>
    </>
  );
}

function Fact(props: { word: string; class?: string; children: JSX.Element }): JSX.Element {
  return (
    <div class={props.class}>
      <dt>{props.word}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** Where the fabric stands, in one line. */
function Strip(): JSX.Element {
  return (
    <section aria-label={t('status')}>
      <dl class="strip">
      <Show when={fabric()} fallback={<Fact word={t('state')}>{t('loading')}</Fact>}>
        {(now) => (
          <>
            <Fact word={t('state')} class={now().state === 'up' ? 'good' : now().state === 'refused' ? 'bad' : 'warn'}>
              {named('state-', now().state)} <Show when={now().emulated}><small>{t('emulated')}</small></Show>
            </Fact>
            <Fact word={t('hosts')}>{number(now().hosts)}</Fact>
            <Fact word={t('switches')}>{number(now().switches)}</Fact>
            <Fact word={t('links')}>{number(now().links.active)}</Fact>
            <Fact word={t('down')} class={now().links.down ? 'bad' : ''}>{number(now().links.down)}</Fact>
            <Fact word={t('heldDown')} class={now().links.held_down ? 'warn' : ''}>{number(now().links.held_down)}</Fact>
            <Fact word={t('heals')}>{number(now().heals.count)}</Fact>
            <Fact word={t('lastHeal')}>
              {now().heals.count ? ms(now().heals.last_ms) : '–'} <small>{t('ms')}</small>
            </Fact>
            <Fact word={t('longestHeal')}>
              {now().heals.count ? ms(now().heals.longest_ms) : '–'} <small>{t('ms')}</small>
            </Fact>
            <Fact word={t('routing')} class="wide">
              <span title={now().routing ?? ''}>{now().refused ?? now().routing ?? '–'}</span>
            </Fact>
          </>
        )}
      </Show>
      </dl>
    </section>
  );
}

/** Asks for a token where the controller wants one. */
function AskToken(): JSX.Element {
  let field: HTMLInputElement | undefined;
  return (
    <form
      class="note row"
      onSubmit={(event) => {
        event.preventDefault();
        giveToken(field?.value.trim() ?? '');
        location.reload();
      }}
    >
      <p>{t('tokenWanted')}</p>
      <label class="row">
        {t('token')} <input ref={field} type="password" autocomplete="current-password" required />
      </label>
      <button class="main">{t('give')}</button>
    </form>
  );
}
