// What has happened and what Heddle did about it: heals in milliseconds, and every event in its order.

import { createVirtualizer } from '@tanstack/solid-virtual';
import { createEffect, createMemo, createSignal, For, onCleanup, onMount, Show, type JSX } from 'solid-js';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { get, type HappenedEvent } from '../api';
import { addEvents, events } from '../live';
import { isDark } from '../theme';
import { clock, eventKinds, kindName, ms, number, t, told } from '../words';

const ROW = 34;
const CHARTED = 120;
const PAGE = 500;
const severities = ['info', 'warning', 'error'] as const;

export default function EventsView(): JSX.Element {
  const [kind, setKind] = createSignal('');
  const [severity, setSeverity] = createSignal('');
  const [isOver, setIsOver] = createSignal(false);
  const shown = createMemo(() => {
    const least = severities.indexOf(severity() as 'info');
    return events().filter((event) => (!kind() || event.kind === kind()) && severities.indexOf(event.severity) >= least);
  });
  const heals = createMemo(() => events().filter((event) => event.kind === 'healed').slice(0, CHARTED).reverse());
  let list!: HTMLDivElement;
  const rows = createVirtualizer({
    get count() {
      return shown().length;
    },
    getScrollElement: () => list,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const older = async (): Promise<void> => {
    const last = events().at(-1);
    const page = await get<{ items: HappenedEvent[]; next: number | null }>(`events?limit=${PAGE}${last ? `&before=${last.number}` : ''}`);
    addEvents(page.items);
    setIsOver(page.items.length === 0 || page.next === null);
  };
  return (
    <div class="page events">
      <section class="box" aria-label={t('healTimes')}>
        <h2>{t('healTimes')}</h2>
        <Show when={heals().length} fallback={<p class="quiet">{t('noHeals')}</p>}>
          <Heals heals={heals()} />
        </Show>
      </section>
      <div class="row">
        <label class="row small">{t('filter')}
          <select value={kind()} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="">{t('allKinds')}</option>
            <For each={eventKinds}>{(each) => <option value={each}>{kindName(each)}</option>}</For>
          </select>
        </label>
        <select aria-label={t('state')} value={severity()} onChange={(event) => setSeverity(event.currentTarget.value)}>
          <option value="">{t('severityAll')}</option>
          <option value="warning">{t('severity-warning')}+</option>
          <option value="error">{t('severity-error')}</option>
        </select>
        <span class="quiet small" role="status">{t('eventsShown', number(shown().length))}</span>
        <Show when={!isOver()}><button class="small" onClick={() => void older()}>{t('older')}</button></Show>
      </div>
      <div class="box list" ref={list} role="table" aria-label={t('events')} aria-rowcount={shown().length + 1} tabindex="0">
        <div class="line head" role="row" aria-rowindex={1}>
          <span role="columnheader">{t('time')}</span><span role="columnheader">{t('kind')}</span><span role="columnheader">{t('what')}</span>
          <span role="columnheader">{t('why')}</span><span role="columnheader" class="n">{t('took')}</span><span role="columnheader" class="n">MAD</span>
        </div>
        <div class="lines" role="rowgroup" style={{ height: `${rows.getTotalSize()}px` }}>
          <For each={rows.getVirtualItems()}>
            {(item) => <Show when={shown()[item.index]}>{(event) => <Row event={event()} index={item.index} top={item.start} />}</Show>}
          </For>
        </div>
      </div>
    </div>
  );
}

function Row(props: { event: HappenedEvent; index: number; top: number }): JSX.Element {
  const seconds = (): number | undefined => (props.event.kind === 'healed' ? Number(props.event.data?.seconds) : undefined);
  return (
    <div class="line" role="row" aria-rowindex={props.index + 2} style={{ transform: `translateY(${props.top}px)` }}>
      <span role="cell" title={props.event.time}>{clock(props.event.time)}</span>
      <span role="cell"><span class={`pill ${props.event.kind === 'healed' ? '' : props.event.severity}`}>{kindName(props.event.kind)}</span></span>
      <span role="cell" title={told(props.event)}>{told(props.event)}</span>
      <span role="cell" class="quiet" title={props.event.cause}>{props.event.cause ?? ''}</span>
      <span role="cell" class="n">{seconds() === undefined ? '' : `${ms(seconds()! * 1e3)} ms`}</span>
      <span role="cell" class="n quiet">{props.event.kind === 'healed' ? number(Number(props.event.data?.mads)) : ''}</span>
    </div>
  );
}

function Heals(props: { heals: HappenedEvent[] }): JSX.Element {
  let box!: HTMLDivElement;
  const times = (): number[] => props.heals.map((event) => Number(event.data?.seconds) * 1e3);
  const text = (): string => {
    const sorted = [...times()].sort((a, b) => a - b);
    return t('healTimesText', sorted.length, ms(sorted[Math.floor(sorted.length / 2)]), ms(sorted[sorted.length - 1]));
  };
  onMount(() => {
    let chart: uPlot | undefined;
    const make = (): void => {
      chart?.destroy();
      const style = getComputedStyle(document.documentElement);
      const [quiet, line, good] = ['--quiet', '--line', '--good'].map((name) => style.getPropertyValue(name));
      const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
      const bars = uPlot.paths.bars!({ size: [0.7, 14], align: 0 });
      chart = new uPlot(
        {
          width: box.clientWidth,
          height: 130,
          legend: { show: false },
          cursor: { show: false },
          scales: { x: { time: false, range: (_, least, most) => [least - 0.5, Math.max(most, least + 20) + 0.5] }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
          axes: [{ ...axis, values: (_, splits) => splits.map((at) => (Number.isInteger(at) && props.heals[at] ? clock(props.heals[at].time) : '')), space: 90 }, { ...axis, size: 46 }],
          series: [{}, { fill: good, stroke: good, width: 0, paths: bars, points: { show: false } }],
        },
        [times().map((_, at) => at), times()],
        box,
      );
    };
    createEffect(() => {
      isDark();
      make();
    });
    const observer = new ResizeObserver(() => chart?.setSize({ width: box.clientWidth, height: 130 }));
    observer.observe(box);
    onCleanup(() => {
      observer.disconnect();
      chart?.destroy();
    });
  });
  return (
    <>
      <p class="small quiet">{text()}</p>
      <div class="chart" ref={box} aria-hidden="true" />
    </>
  );
}
