// What if these links were pulled and these switches drained: asked of the controller, which computes it on a copy.

import { createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { post } from '../api';
import { model as current } from '../live';
import type { Model } from '../model';
import { ms, number, t } from '../words';
import { setTaken, taken, takeSwitch } from './choice';
import { Find } from './Find';

interface Load {
  max: number;
  p99: number;
  mean: number;
}

interface Answer {
  pairs: number;
  pairs_lost: number;
  hosts_cut: number;
  before: Load;
  after: Load;
  entries: number;
  blocks: number;
  repaired: boolean;
  links: number;
  seconds: number;
}

export function WhatIfPanel(props: { model: Model }): JSX.Element {
  const [answer, setAnswer] = createSignal<Answer>();
  const [failed, setFailed] = createSignal('');
  const [busy, setBusy] = createSignal(false);
  const nothing = createMemo(() => taken().links.length + taken().switches.length === 0);
  const without = (list: number[], gone: number): number[] => list.filter((each) => each !== gone);
  const ask = async (): Promise<void> => {
    setBusy(true);
    setFailed('');
    setAnswer(undefined);
    const { links, switches } = taken();
    try {
      const body = {
        pull: links.map((link) => ({ node: props.model.guid[props.model.a[link]], port: props.model.aPort[link] })),
        drain: switches.map((node) => props.model.guid[node]),
      };
      setAnswer(await post<Answer>('what-if', body));
    } catch (error) {
      setFailed((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const change = (next: { links: number[]; switches: number[] }): void => {
    setTaken(next);
    setAnswer(undefined);
  };
  return (
    <>
      <p class="small quiet">{t('whatIfIntro')}</p>
      <Find model={props.model} label={t('addSwitch')} switchesOnly found={(node) => { setAnswer(undefined); takeSwitch(node); }} />
      <h2 class="sub">{t('taken')}</h2>
      <Show when={!nothing()} fallback={<p class="small quiet">{t('nothingTaken')}</p>}>
        <ul class="plain small">
          <For each={taken().links}>
            {(link) => <Taken text={props.model.label(link).join(' — ')} remove={() => change({ ...taken(), links: without(taken().links, link) })} />}
          </For>
          <For each={taken().switches}>
            {(node) => <Taken text={props.model.name[node]} remove={() => change({ ...taken(), switches: without(taken().switches, node) })} />}
          </For>
        </ul>
      </Show>
      <button class="main" disabled={busy() || nothing() || !current()} onClick={() => void ask()}>{busy() ? t('computing') : t('compute')}</button>
      <div aria-live="polite">
        <Show when={failed()}><p class="error" role="alert">{failed()}</p></Show>
        <Show when={answer()}>{(said) => <Outcome answer={said()} />}</Show>
      </div>
    </>
  );
}

function Taken(props: { text: string; remove: () => void }): JSX.Element {
  return (
    <li class="row spread">
      <span class="grow">{props.text}</span>
      <button class="small" aria-label={`${t('remove')}: ${props.text}`} onClick={() => props.remove()}>×</button>
    </li>
  );
}

function Outcome(props: { answer: Answer }): JSX.Element {
  const said = (): Answer => props.answer;
  const rows = (): [string, number, number][] => [
    [t('mostLoaded'), said().before.max, said().after.max],
    [t('loaded99'), said().before.p99, said().after.p99],
    [t('meanLoad'), Math.round(said().before.mean), Math.round(said().after.mean)],
  ];
  return (
    <>
      <p class="verdict" classList={{ bad: said().pairs_lost > 0 }}>
        {said().pairs_lost ? t('verdictLost', number(said().pairs_lost)) : t('verdictNone')}
      </p>
      <table style={{ margin: '10px 0' }}>
        <thead><tr><td /><th class="n">{t('before')}</th><th class="n">{t('after')}</th></tr></thead>
        <tbody>
          <For each={rows()}>{([word, before, after]) => <tr><td>{word}</td><td class="n">{number(before)}</td><td class="n">{number(after)}</td></tr>}</For>
        </tbody>
      </table>
      <dl class="facts">
        <dt>{t('hostsCut')}</dt><dd>{number(said().hosts_cut)}</dd>
        <dt>{t('entriesChanged')}</dt><dd>{number(said().entries)}</dd>
        <dt>{t('blocksWritten')}</dt><dd>{number(said().blocks)}, {said().repaired ? t('byRepair') : t('byEngine')}</dd>
      </dl>
      <p class="small quiet" style={{ 'margin-top': '8px' }}>{t('counted', number(said().pairs), number(said().links), ms(said().seconds * 1e3))}</p>
    </>
  );
}
