// What the page knows of the controller at this moment, kept up by its streams.

import { batch, createSignal } from 'solid-js';
import { follow, get, Problem, type Fabric, type HappenedEvent, type States, type Topology } from './api';
import { Model } from './model';

/** Events that the page holds; older ones are asked for. */
const HELD = 2_000;
const FIRST_PAGE = 200;
const FABRIC_EVERY = 500;
const FABRIC_AT_LEAST = 5_000;

const [fabric, setFabric] = createSignal<Fabric>();
const [events, setEvents] = createSignal<HappenedEvent[]>([]);
const [model, setModel] = createSignal<Model>();
/** Counts what has changed in the model: its arrays are changed in place. */
const [revision, setRevision] = createSignal(0);
const [connected, setConnected] = createSignal(false);
const [refused, setRefused] = createSignal<Problem>();
export { fabric, events, model, revision, connected, refused };

let asked = false;
let isMarked = false;
let soon = 0;

async function lookAtFabric(): Promise<void> {
  asked = true;
  try {
    setFabric(await get<Fabric>('fabric'));
    if (!isMarked) performance.mark('heddle-summary');
    isMarked = true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) setRefused(error);
  } finally {
    asked = false;
  }
}

/** Looks at the summary in a moment, however often it is asked for. */
function lookSoon(): void {
  if (soon) return;
  soon = window.setTimeout(() => {
    soon = 0;
    if (!asked) void lookAtFabric();
  }, FABRIC_EVERY);
}

/** Adds events that are newer or older than what is held, the newest first. */
export function addEvents(more: HappenedEvent[]): void {
  setEvents((has) => {
    const known = new Set(has.map((event) => event.number));
    const all = [...has, ...more.filter((event) => !known.has(event.number))];
    all.sort((one, other) => other.number - one.number);
    return all.slice(0, HELD);
  });
}

let loading: Promise<void> | undefined;
let newest: States | undefined;

async function loadTopology(): Promise<void> {
  for (;;) {
    const topology = await get<Topology>('topology');
    const next = new Model(topology);
    if (newest && newest.shape === next.shape && newest.revision > topology.states.revision) next.take(newest);
    const isOld = newest !== undefined && newest.shape > next.shape;
    batch(() => {
      setModel(next);
      setRevision((count) => count + 1);
    });
    if (!isOld) return;
  }
}

/** Has the arrays, unless they are under way. */
export function wantTopology(): void {
  if (loading) return;
  loading = loadTopology()
    .catch((error: unknown) => {
      if (error instanceof Problem && error.status === 401) setRefused(error);
    })
    .finally(() => (loading = undefined));
}

function hearStates(text: string): void {
  const states = JSON.parse(text) as States;
  newest = states;
  const current = model();
  if (!current || current.shape !== states.shape) {
    wantTopology();
    return;
  }
  current.take(states);
  setRevision((count) => count + 1);
  lookSoon();
}

let pending: HappenedEvent[] = [];

function hearEvent(text: string): void {
  pending.push(JSON.parse(text) as HappenedEvent);
  if (pending.length > 1) return;
  // Storms come as many events at once: the page is drawn once for all of them.
  requestAnimationFrame(() => {
    addEvents(pending);
    pending = [];
    lookSoon();
  });
}

export function begin(): void {
  void lookAtFabric();
  wantTopology();
  follow('topology/stream', hearStates, (now, why) => {
    setConnected(now);
    if (why?.status === 401) setRefused(why);
  });
  void get<{ items: HappenedEvent[] }>(`events?limit=${FIRST_PAGE}`)
    .then((page) => addEvents(page.items))
    .catch(() => undefined);
  follow('events/stream', hearEvent, () => lookSoon());
  setInterval(lookSoon, FABRIC_AT_LEAST);
}
