// The fabric: a map, and a panel with the same as tables for keyboards and screen readers.

import { createEffect, createMemo, createSignal, onCleanup, Show, untrack, type JSX } from 'solid-js';
import { layOut, type Layout } from '../layout';
import { model, revision } from '../live';
import type { FabricMap } from '../map';
import type { Model } from '../model';
import { isDark, palette } from '../theme';
import { t } from '../words';
import { choice, pair, setChoice, setPair, setTab, tab, taken, takeLink, takeSwitch, way } from './choice';
import { Inspect } from './Inspect';
import { PathPanel } from './Path';
import { WhatIfPanel } from './WhatIf';

const tabs = [
  ['inspect', 'inspect'],
  ['path', 'path'],
  ['whatIf', 'whatIf'],
] as const;

export function FabricView(): JSX.Element {
  return (
    <div class="fabric">
      <Show when={model()} keyed fallback={<p class="note" role="status">{t('loading')}</p>}>
        {(fabric) => <Map model={fabric} />}
      </Show>
      <aside>
        <div class="tabs" role="tablist" onKeyDown={(event) => moveTab(event)}>
          {tabs.map(([each, word]) => (
            <button role="tab" id={`tab-${each}`} aria-selected={tab() === each} aria-controls="panel" tabindex={tab() === each ? 0 : -1} onClick={() => setTab(each)}>
              {t(word)}
            </button>
          ))}
        </div>
        <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${tab()}`} tabindex="0">
          <Show when={model()}>
            {(fabric) => (
              <>
                <Show when={tab() === 'inspect'}><Inspect model={fabric()} /></Show>
                <Show when={tab() === 'path'}><PathPanel model={fabric()} /></Show>
                <Show when={tab() === 'whatIf'}><WhatIfPanel model={fabric()} /></Show>
              </>
            )}
          </Show>
        </div>
      </aside>
    </div>
  );
}

function moveTab(event: KeyboardEvent): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (!step) return;
  const at = tabs.findIndex(([each]) => each === tab());
  const [next] = tabs[(at + step + tabs.length) % tabs.length];
  setTab(next);
  document.getElementById(`tab-${next}`)?.focus();
}

function canDraw(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null;
}

function Map(props: { model: Model }): JSX.Element {
  let box!: HTMLDivElement;
  let canvas!: HTMLCanvasElement;
  let labels!: HTMLCanvasElement;
  const [map, setMap] = createSignal<FabricMap>();
  const [tip, setTip] = createSignal<{ text: string; x: number; y: number }>();
  const isDrawn = canDraw();
  const layout = createMemo<Layout>(() => layOut(props.model));

  const click = (node: number | undefined, link: number | undefined): void => {
    if (tab() === 'whatIf') {
      if (link !== undefined) takeLink(link);
      else if (node !== undefined && props.model.isSwitch[node]) takeSwitch(node);
    } else if (tab() === 'path' && node !== undefined) {
      const { from, to } = pair();
      setPair(from === undefined || to !== undefined ? { from: node } : { from, to: node });
    } else if (link !== undefined) setChoice({ what: 'link', link });
    else if (node !== undefined) setChoice({ what: 'node', node });
    else setChoice({ what: 'fabric' });
  };

  const start = async (): Promise<void> => {
    const { FabricMap } = await import('../map');
    if (!box.isConnected) return;
    const fabric = props.model;
    const drawn = new FabricMap(box, canvas, labels, fabric, layout(), untrack(palette), {
      hover: (node, link, x, y) => {
        const text = link !== undefined ? fabric.label(link).join(' — ') : node !== undefined ? fabric.name[node] : undefined;
        setTip(text === undefined ? undefined : { text, x, y });
        canvas.style.cursor = text === undefined ? '' : 'pointer';
      },
      click,
    });
    drawn.title = (card) => (card.pod === 0 ? t('topTier') : t('podNumber', card.pod));
    setMap(drawn);
    // Tests and people with a stopwatch find it in the performance timeline.
    performance.mark('heddle-map');
  };
  if (isDrawn) queueMicrotask(() => void start());
  onCleanup(() => map()?.end());

  createEffect(() => {
    isDark();
    map()?.dress(palette());
  });
  createEffect(() => {
    revision();
    t('topTier');
    map()?.redraw();
  });
  createEffect(() => {
    const chosen = choice();
    const fabric = props.model;
    const links = (way()?.hops ?? []).flatMap((hop) => {
      const node = fabric.find(hop.from_guid);
      const link = node === undefined ? undefined : fabric.linkAt(node, hop.from_port);
      return link === undefined ? [] : [link];
    });
    const { links: out, switches } = taken();
    const asked = tab() === 'whatIf' ? [...out, ...switches.flatMap((node) => fabric.linksOf(node).map((has) => has.link))] : [];
    map()?.mark({
      node: chosen.what === 'node' && tab() === 'inspect' ? chosen.node : undefined,
      link: chosen.what === 'link' && tab() === 'inspect' ? chosen.link : undefined,
      way: tab() === 'path' ? links : [],
      taken: asked,
    });
  });
  // What is chosen in the panel is gone to.
  createEffect(() => {
    const chosen = choice();
    const drawn = map();
    if (!drawn) return;
    if (chosen.what === 'pod') {
      const card = layout().cards.find((each) => each.pod === chosen.pod);
      if (card) drawn.showCard(card);
    } else if (chosen.what === 'node') drawn.showNode(chosen.node);
  });
  // A path is seen whole.
  createEffect(() => {
    const hops = way()?.hops ?? [];
    const drawn = map();
    if (!drawn || tab() !== 'path' || hops.length === 0) return;
    const stops = [hops[0].from_guid, ...hops.map((hop) => hop.to_guid)].map((guid) => props.model.find(guid));
    drawn.showNodes(stops.filter((node) => node !== undefined));
  });

  return (
    <div class="map" ref={box} role="region" aria-label={t('fabric')}>
      <Show when={isDrawn} fallback={<p class="note">{t('noGpu')}</p>}>
        <canvas ref={canvas} role="img" aria-label={t('map')} />
        <canvas ref={labels} class="labels" aria-hidden="true" />
        <div class="tools">
          <button onClick={() => { setChoice({ what: 'fabric' }); map()?.show(); }}>{t('wholeFabric')}</button>
          <button aria-label={t('zoomIn')} onClick={() => map()?.zoom(1)}>+</button>
          <button aria-label={t('zoomOut')} onClick={() => map()?.zoom(-1)}>−</button>
        </div>
        <ul class="legend" aria-label={t('legend')}>
          <li><i style={{ background: 'rgb(110 140 185)' }} />{t('active')}</li>
          <li><i style={{ background: 'var(--bad)' }} />{t('downState')}</li>
          <li><i style={{ background: 'var(--warn)' }} />{t('held-down')}</li>
          <li><i style={{ background: 'var(--way)' }} />{t('path')}</li>
        </ul>
        <Show when={tip()}>
          {(at) => <div class="tip" style={{ left: `${Math.min(at().x + 12, box.clientWidth - 260)}px`, top: `${at().y + 14}px` }}>{at().text}</div>}
        </Show>
      </Show>
    </div>
  );
}
