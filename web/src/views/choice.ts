// What is chosen on the fabric, shared by the map and the panel beside it.

import { createSignal } from 'solid-js';
import type { Way } from '../api';

export type Choice = { what: 'fabric' } | { what: 'pod'; pod: number } | { what: 'node'; node: number } | { what: 'link'; link: number };
export type Tab = 'inspect' | 'path' | 'whatIf';

const [choice, setChoice] = createSignal<Choice>({ what: 'fabric' });
const [tab, setTab] = createSignal<Tab>('inspect');
/** Both ends of the path that is asked for, by place among the nodes. */
const [pair, setPair] = createSignal<{ from?: number; to?: number }>({});
const [way, setWay] = createSignal<Way>();
/** What a question takes out. */
const [taken, setTaken] = createSignal<{ links: number[]; switches: number[] }>({ links: [], switches: [] });
export { choice, setChoice, tab, setTab, pair, setPair, way, setWay, taken, setTaken };

export function takeLink(link: number): void {
  setTaken((has) => (has.links.includes(link) ? has : { ...has, links: [...has.links, link] }));
}

export function takeSwitch(node: number): void {
  setTaken((has) => (has.switches.includes(node) ? has : { ...has, switches: [...has.switches, node] }));
}
