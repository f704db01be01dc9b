// From the whole fabric to one port: pods, switches, ports, a link; each a table whose rows lead on.

import { createEffect, createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from 'solid-js';
import { get, post, type Link } from '../api';
import { events, fabric, revision } from '../live';
import { ACTIVE, type Model } from '../model';
import { clock, kindName, named, number, t, told } from '../words';
import { choice, setChoice, setPair, setTab, takeLink, takeSwitch } from './choice';
import { Find } from './Find';

const LATEST = 6;

export function Inspect(props: { model: Model }): JSX.Element {
  return (
    <>
      <Find model={props.model} label={t('find')} found={(node) => setChoice({ what: 'node', node })} />
      <Switch>
        <Match when={choice().what === 'fabric'}><Pods model={props.model} /></Match>
        <Match when={choice().what === 'pod' && (choice() as { pod: number })}>
          {(chosen) => <Switches model={props.model} pod={chosen().pod} />}
        </Match>
        <Match when={choice().what === 'node' && (choice() as { node: number })}>
          {(chosen) => <Node model={props.model} node={chosen().node} />}
        </Match>
        <Match when={choice().what === 'link' && (choice() as { link: number })}>
          {(chosen) => <OneLink model={props.model} link={chosen().link} />}
        </Match>
      </Switch>
    </>
  );
}

function Pods(props: { model: Model }): JSX.Element {
  const rows = createMemo(() => {
    revision();
    const { model } = props;
    const found = Array.from({ length: model.pods + 1 }, (_, pod) => ({ pod, switches: 0, hosts: 0, down: 0 }));
    for (let node = 0; node < model.count; node++) {
      if (model.isSwitch[node]) found[model.pod[node]].switches++;
      else found[model.pod[node]].hosts++;
    }
    for (const link of [...model.down, ...model.held]) {
      const [a, b] = [model.pod[model.a[link]], model.pod[model.b[link]]];
      found[a].down++;
      if (b !== a) found[b].down++;
    }
    return found.filter((row) => row.switches + row.hosts > 0);
  });
  const latest = (): ReturnType<typeof events> => events().filter((event) => event.kind !== 'trap').slice(0, LATEST);
  return (
    <>
      <Lost model={props.model} />
      <table>
        <caption class="out">{t('pods')}</caption>
        <thead>
          <tr><th>{t('pods')}</th><th class="n">{t('switches')}</th><th class="n">{t('hosts')}</th><th class="n">{t('linksDown')}</th></tr>
        </thead>
        <tbody>
          <For each={rows()}>
            {(row) => (
              <tr>
                <td><button class="plain" onClick={() => setChoice({ what: 'pod', pod: row.pod })}>{row.pod ? t('podNumber', row.pod) : t('topTier')}</button></td>
                <td class="n">{number(row.switches)}</td>
                <td class="n">{number(row.hosts)}</td>
                <td class="n">{row.down ? <span class="pill down">{row.down}</span> : 0}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <div class="row spread"><h2 class="sub">{t('lastEvents')}</h2><a class="small" href="#/events" style={{ color: 'var(--accent)' }}>{t('allEvents')}</a></div>
      <ul class="plain feed">
        <For each={latest()}>
          {(event) => (
            <li class={event.kind === 'healed' ? 'healed' : event.severity}>
              <time>{clock(event.time)}</time>{told(event)}
            </li>
          )}
        </For>
      </ul>
    </>
  );
}

const NAMED = 12;

/** Links that are out of service, wherever they are. */
function Lost(props: { model: Model }): JSX.Element {
  const links = createMemo(() => {
    revision();
    return [...props.model.down, ...props.model.held].slice(0, NAMED);
  });
  return (
    <Show when={links().length}>
      <section aria-label={t('linksDown')}>
        <ul class="plain small">
          <For each={links()}>
            {(link) => (
              <li>
                <span class={`pill ${props.model.stateName(link)}`}>{props.model.stateName(link) === 'down' ? t('downState') : t('held-down')}</span>{' '}
                <button class="plain" onClick={() => setChoice({ what: 'link', link })}>{props.model.label(link).join(' — ')}</button>
              </li>
            )}
          </For>
        </ul>
      </section>
    </Show>
  );
}

function Back(props: { to: () => void }): JSX.Element {
  return <button class="plain small" onClick={() => props.to()}>← {t('back')}</button>;
}

function Switches(props: { model: Model; pod: number }): JSX.Element {
  const rows = createMemo(() => {
    revision();
    const { model } = props;
    const found = [];
    for (let node = 0; node < model.count; node++) {
      if (!model.isSwitch[node] || model.pod[node] !== props.pod) continue;
      const links = model.linksOf(node);
      found.push({ node, tier: model.tier[node], down: links.filter(({ link }) => model.state[link] !== ACTIVE).length, up: links.length });
    }
    const collator = new Intl.Collator('en', { numeric: true });
    return found.sort((a, b) => b.tier - a.tier || collator.compare(model.name[a.node], model.name[b.node]));
  });
  return (
    <>
      <Back to={() => setChoice({ what: 'fabric' })} />
      <h2>{props.pod ? t('podNumber', props.pod) : t('topTier')}</h2>
      <table>
        <caption class="out">{t('switches')}</caption>
        <thead><tr><th>{t('name')}</th><th class="n">{t('tier')}</th><th class="n">{t('links')}</th><th class="n">{t('linksDown')}</th></tr></thead>
        <tbody>
          <For each={rows()}>
            {(row) => (
              <tr>
                <td><button class="plain" onClick={() => setChoice({ what: 'node', node: row.node })}>{props.model.name[row.node]}</button></td>
                <td class="n">{row.tier || '–'}</td>
                <td class="n">{row.up - row.down}</td>
                <td class="n">{row.down ? <span class="pill down">{row.down}</span> : 0}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </>
  );
}

function Node(props: { model: Model; node: number }): JSX.Element {
  const isSwitch = (): boolean => Boolean(props.model.isSwitch[props.node]);
  const rows = createMemo(() => {
    revision();
    return props.model.linksOf(props.node).map((has) => ({ ...has, state: props.model.stateName(has.link) }));
  });
  return (
    <>
      <Back to={() => setChoice({ what: 'pod', pod: props.model.pod[props.node] })} />
      <h2>{props.model.name[props.node]}</h2>
      <dl class="facts">
        <dt>GUID</dt><dd>{props.model.guid[props.node]}</dd>
        <dt>{t('kind')}</dt><dd>{named('kind-', props.model.kind(props.node))}</dd>
        <Show when={isSwitch()}><dt>{t('tier')}</dt><dd>{props.model.tier[props.node]}</dd></Show>
        <Show when={revision() >= 0 && props.model.absent.has(props.node)}><dt>{t('state')}</dt><dd><span class="pill down">{t('absent')}</span></dd></Show>
      </dl>
      <div class="row">
        <button onClick={() => { setPair({ from: props.node }); setTab('path'); }}>{t('pathFrom')}</button>
        <Show when={isSwitch()}>
          <button onClick={() => { takeSwitch(props.node); setTab('whatIf'); }}>{t('whatIfDrained')}</button>
        </Show>
      </div>
      <table>
        <caption class="out">{t('port')}</caption>
        <thead><tr><th class="n">{t('port')}</th><th>{t('leadsTo')}</th><th>{t('state')}</th></tr></thead>
        <tbody>
          <For each={rows()}>
            {(row) => (
              <tr>
                <td class="n"><button class="plain" aria-label={`${t('port')} ${row.port}`} onClick={() => setChoice({ what: 'link', link: row.link })}>{row.port}</button></td>
                <td><button class="plain" onClick={() => setChoice({ what: 'node', node: row.peer })}>{props.model.name[row.peer]}[{row.peerPort}]</button></td>
                <td><span class={`pill ${row.state}`}>{row.state === 'down' ? t('downState') : t(row.state)}</span></td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </>
  );
}

function OneLink(props: { model: Model; link: number }): JSX.Element {
  const where = (): string => `${props.model.guid[props.model.a[props.link]]}/${props.model.aPort[props.link]}`;
  const state = (): string => {
    revision();
    return props.model.stateName(props.link);
  };
  const [detail] = createResource(
    () => [where(), revision()] as const,
    ([at]) => get<Link>(`links/${at}`).catch(() => undefined),
  );
  const [failed, setFailed] = createSignal('');
  createEffect(() => {
    where();
    setFailed('');
  });
  const act = (what: 'pull' | 'mend'): void => {
    post(`emulator/links/${where()}/${what}`).then(() => setFailed(''), (error: Error) => setFailed(error.message));
  };
  const happened = (): ReturnType<typeof events> => {
    const ends = props.model.label(props.link);
    return events().filter((event) => ends.includes(event.subject ?? '')).slice(0, LATEST);
  };
  return (
    <>
      <Back to={() => setChoice({ what: 'node', node: props.model.b[props.link] })} />
      <h2>{t('link')}</h2>
      <div class="row"><span class={`pill ${state()}`}>{state() === 'down' ? t('downState') : t(state() as 'active')}</span><span class="quiet">{props.model.rate(props.link)}</span></div>
      <dl class="facts">
        <dt>{t('ends')}</dt>
        <dd><End model={props.model} node={props.model.a[props.link]} port={props.model.aPort[props.link]} /></dd>
        <dt />
        <dd><End model={props.model} node={props.model.b[props.link]} port={props.model.bPort[props.link]} /></dd>
        <Show when={detail.latest}>
          {(link) => (
            <>
              <dt>{t('since')}</dt><dd>{clock(link().since)}</dd>
              <dt>{t('losses')}</dt><dd>{link().losses}</dd>
              <Show when={link().gbps}><dt>{t('rate')}</dt><dd>{link().gbps} Gbit/s</dd></Show>
            </>
          )}
        </Show>
      </dl>
      <div class="row">
        <button onClick={() => { takeLink(props.link); setTab('whatIf'); }}>{t('whatIfPulled')}</button>
        <Show when={fabric()?.emulated}>
          <Show when={state() === 'active'} fallback={<button onClick={() => act('mend')}>{t('mend')}</button>}>
            <button onClick={() => act('pull')}>{t('pull')}</button>
          </Show>
        </Show>
      </div>
      <Show when={failed()}><p class="error" role="alert">{failed()}</p></Show>
      <h2 class="sub">{t('events')}</h2>
      <ul class="plain feed">
        <For each={happened()}>
          {(event) => <li class={event.severity}><time>{clock(event.time)}</time>{kindName(event.kind)}<Show when={event.cause}><div class="quiet small">{event.cause}</div></Show></li>}
        </For>
      </ul>
    </>
  );
}

function End(props: { model: Model; node: number; port: number }): JSX.Element {
  return <button class="plain" onClick={() => setChoice({ what: 'node', node: props.node })}>{props.model.name[props.node]}[{props.port}]</button>;
}
