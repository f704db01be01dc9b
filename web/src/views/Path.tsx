// The way that the programmed tables give from one node to another.

import { createEffect, For, Show, createSignal, onCleanup, type JSX } from 'solid-js';
import { get, type Way } from '../api';
import { revision } from '../live';
import type { Model } from '../model';
import { t } from '../words';
import { pair, setPair, setWay, way } from './choice';
import { Find } from './Find';

export function PathPanel(props: { model: Model }): JSX.Element {
  const [failed, setFailed] = createSignal('');
  const name = (node: number | undefined): string => (node === undefined ? '' : props.model.name[node]);
  createEffect(() => {
    const { from, to } = pair();
    // A heal may have led it another way.
    revision();
    setFailed('');
    if (from === undefined || to === undefined) {
      setWay(undefined);
      return;
    }
    const asked = new AbortController();
    onCleanup(() => asked.abort());
    get<Way>(`paths?from=${props.model.guid[from]}&to=${props.model.guid[to]}`, asked.signal).then(setWay, (error: Error) => {
      if (asked.signal.aborted) return;
      setWay(undefined);
      setFailed(error.message);
    });
  });
  return (
    <>
      <Find model={props.model} label={t('from')} value={name(pair().from)} found={(from) => setPair({ ...pair(), from })} />
      <Find model={props.model} label={t('to')} value={name(pair().to)} found={(to) => setPair({ ...pair(), to })} />
      <Show when={pair().to === undefined}><p class="quiet small">{t('pickTo')}</p></Show>
      <Show when={failed()}><p class="error" role="alert">{failed()}</p></Show>
      <Show when={way()}>
        {(found) => (
          <section aria-live="polite">
            <div class="row" style={{ 'margin-bottom': '8px' }}>
              <span class={`pill ${found().arrives ? '' : 'down'}`}>{found().arrives ? t('hops', found().hops.length) : t('doesNotArrive')}</span>
              <span class="quiet small">LID {found().from_lid} → {found().to_lid}</span>
              <Show when={found().service_level !== null}><span class="quiet small">{t('serviceLevel')} {found().service_level}</span></Show>
            </div>
            <ol class="way">
              <For each={found().hops}>
                {(hop) => (
                  <li>
                    {hop.from_name}[{hop.from_port}] → {hop.to_name}[{hop.to_port}]
                    <Show when={hop.gbps}><div class="quiet small">{hop.gbps} Gbit/s</div></Show>
                  </li>
                )}
              </For>
            </ol>
          </section>
        )}
      </Show>
    </>
  );
}
