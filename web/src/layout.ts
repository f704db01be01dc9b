// Where every node is drawn: the top tier as a band, below it a card a pod; in a card its upper switches in rows, then
// each leaf as a bar over its hosts. One unit is the room of one host.

import type { Model } from './model';

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Card extends Box {
  /** 0 is the top tier's band. */
  pod: number;
  switches: number[];
}

export interface Layout {
  x: Float32Array;
  y: Float32Array;
  /** Half of the width and height of each node as drawn. */
  halfWidth: Float32Array;
  halfHeight: Float32Array;
  cards: Card[];
  /** The card of each node. */
  cardOf: Int32Array;
  width: number;
  height: number;
}

const PADDING = 1.4;
const TITLE = 2.6;
const GAP = 3;
const BAR = 1.1;
const LEAF_GAP = 1.3;
const SWITCH = 1.5;
const SWITCH_ROOM = 2.6;
const TIER_GAP = 3.2;
const ASPECT = 1.3;

interface Pod {
  pod: number;
  leaves: number[];
  /** Switches of the tiers above the leaves, a list a tier, the highest first. */
  upper: number[][];
}

interface Plan {
  leafColumns: number;
  podColumns: number;
  cardWidth: number;
  cardHeight: number;
}

const collator = new Intl.Collator('en', { numeric: true });

function byName(model: Model, nodes: number[]): number[] {
  return nodes.sort((a, b) => collator.compare(model.name[a], model.name[b]));
}

/** Rows of switches that a width holds. */
function rowsOf(count: number, width: number): number {
  return count === 0 ? 0 : Math.ceil(count / Math.max(1, Math.floor(width / SWITCH_ROOM)));
}

function upperHeight(upper: number[][], width: number): number {
  return upper.reduce((sum, tier) => sum + rowsOf(tier.length, width) * SWITCH_ROOM + TIER_GAP, 0);
}

/** The numbers of columns that come nearest to the wanted shape. */
function plan(pods: Pod[], block: { w: number; h: number }, top: number): Plan {
  const mostLeaves = Math.max(1, ...pods.map((pod) => pod.leaves.length));
  let best: Plan | undefined;
  let least = Infinity;
  for (let leafColumns = 1; leafColumns <= mostLeaves; leafColumns++) {
    const leafRows = Math.ceil(mostLeaves / leafColumns);
    const inner = Math.max(leafColumns * (block.w + LEAF_GAP) - LEAF_GAP, SWITCH_ROOM * 2);
    const upper = Math.max(0, ...pods.map((pod) => upperHeight(pod.upper, inner)));
    const cardWidth = inner + 2 * PADDING;
    const cardHeight = TITLE + upper + leafRows * (block.h + LEAF_GAP) - LEAF_GAP + 2 * PADDING;
    for (let podColumns = 1; podColumns <= pods.length; podColumns++) {
      const podRows = Math.ceil(pods.length / podColumns);
      const width = podColumns * (cardWidth + GAP) - GAP;
      const band = top ? rowsOf(top, width) * SWITCH_ROOM + TITLE + 2 * PADDING + 4 * GAP : 0;
      const height = band + podRows * (cardHeight + GAP);
      const empty = 1 - pods.length / (podRows * podColumns) + (1 - mostLeaves / (leafRows * leafColumns));
      // Leaves under each other hide the links of the lower ones: a little worse.
      const cost = Math.abs(Math.log(width / height / ASPECT)) + empty * 2 + (leafRows - 1) * 0.12 + (podRows - 1) * 0.05;
      if (cost < least) {
        least = cost;
        best = { leafColumns, podColumns, cardWidth, cardHeight };
      }
    }
  }
  return best ?? { leafColumns: 1, podColumns: 1, cardWidth: 1, cardHeight: 1 };
}

export function layOut(model: Model): Layout {
  const { count } = model;
  const layout: Layout = {
    x: new Float32Array(count),
    y: new Float32Array(count),
    halfWidth: new Float32Array(count),
    halfHeight: new Float32Array(count),
    cards: [],
    cardOf: new Int32Array(count).fill(-1),
    width: 0,
    height: 0,
  };
  const hosts = new Map<number, number[]>();
  for (let node = 0; node < count; node++) {
    const home = model.home[node];
    if (home < 0) continue;
    const list = hosts.get(home);
    if (list) list.push(node);
    else hosts.set(home, [node]);
  }
  const portAtHome = new Uint8Array(count);
  for (let link = 0; link < model.linkCount; link++) {
    const [a, b] = [model.a[link], model.b[link]];
    if (model.home[a] === b) portAtHome[a] = model.bPort[link];
    if (model.home[b] === a) portAtHome[b] = model.aPort[link];
  }
  for (const list of hosts.values()) list.sort((a, b) => portAtHome[a] - portAtHome[b]);

  // Without pods every switch that has hosts is a leaf of one card.
  const isFlat = model.pods === 0;
  const pods: Pod[] = Array.from({ length: isFlat ? 1 : model.pods }, (_, at) => ({ pod: at + 1, leaves: [], upper: [] }));
  const top: number[] = [];
  for (let node = 0; node < count; node++) {
    if (!model.isSwitch[node]) continue;
    const pod = isFlat ? pods[0] : pods[model.pod[node] - 1];
    const isTop = isFlat ? model.tier[node] !== 1 : pod === undefined;
    if (isTop) top.push(node);
    else if (model.tier[node] <= 1) pod.leaves.push(node);
    else (pod.upper[model.tiers - model.tier[node]] ??= []).push(node);
  }
  for (const pod of pods) {
    byName(model, pod.leaves);
    pod.upper = pod.upper.filter((tier) => tier?.length);
    pod.upper.forEach((tier) => byName(model, tier));
  }
  byName(model, top);

  const leafHosts = pods.flatMap((pod) => pod.leaves.map((leaf) => hosts.get(leaf)?.length ?? 0));
  const mostHosts = leafHosts.reduce((most, has) => Math.max(most, has), 1);
  const hostColumns = Math.ceil(Math.sqrt(mostHosts));
  const block = { w: hostColumns, h: BAR + 0.5 + Math.ceil(mostHosts / hostColumns) };
  const { leafColumns, podColumns, cardWidth, cardHeight } = plan(pods, block, top.length);

  const place = (node: number, card: number, x: number, y: number, halfWidth: number, halfHeight: number): void => {
    layout.x[node] = x;
    layout.y[node] = y;
    layout.halfWidth[node] = halfWidth;
    layout.halfHeight[node] = halfHeight;
    layout.cardOf[node] = card;
  };
  const row = (nodes: number[], card: number, left: number, width: number, y: number): number => {
    const rows = rowsOf(nodes.length, width);
    const columns = Math.ceil(nodes.length / Math.max(1, rows));
    nodes.forEach((node, at) => {
      const x = left + (((at % columns) + 0.5) * width) / columns;
      place(node, card, x, y + (Math.floor(at / columns) + 0.5) * SWITCH_ROOM, SWITCH / 2, SWITCH / 2);
    });
    return rows * SWITCH_ROOM;
  };

  layout.width = Math.min(podColumns, pods.length) * (cardWidth + GAP) - GAP;
  let y = 0;
  if (top.length) {
    const inner = Math.min(layout.width - 2 * PADDING, Math.max(top.length * SWITCH_ROOM * 2.5, cardWidth));
    const left = (layout.width - inner) / 2;
    const height = row(top, 0, left, inner, TITLE + PADDING);
    layout.cards.push({ pod: 0, switches: top, x: left - PADDING, y: 0, w: inner + 2 * PADDING, h: height + TITLE + 2 * PADDING });
    // Machines at the top tier itself, as managers' are.
    for (const node of top) {
      (hosts.get(node) ?? []).forEach((host, at) => {
        place(host, 0, layout.x[node] - SWITCH / 2 + at * 0.5, layout.y[node] + SWITCH * 0.75, 0.2, 0.2);
      });
    }
    y = height + TITLE + 2 * PADDING + 4 * GAP;
  }
  pods.forEach((pod, at) => {
    const card = layout.cards.length;
    const left = (at % podColumns) * (cardWidth + GAP);
    const from = y + Math.floor(at / podColumns) * (cardHeight + GAP);
    const inner = cardWidth - 2 * PADDING;
    let below = from + PADDING + TITLE;
    for (const tier of pod.upper) below += row(tier, card, left + PADDING, inner, below) + TIER_GAP;
    pod.leaves.forEach((leaf, index) => {
      const x = left + PADDING + (index % leafColumns) * (block.w + LEAF_GAP);
      const over = below + Math.floor(index / leafColumns) * (block.h + LEAF_GAP);
      place(leaf, card, x + block.w / 2, over + BAR / 2, block.w / 2, BAR / 2);
      (hosts.get(leaf) ?? []).forEach((host, seat) => {
        const column = seat % hostColumns;
        place(host, card, x + column + 0.5, over + BAR + 0.5 + Math.floor(seat / hostColumns) + 0.5, 0.36, 0.36);
      });
    });
    layout.cards.push({ pod: isFlat ? 0 : pod.pod, switches: [...pod.upper.flat(), ...pod.leaves], x: left, y: from, w: cardWidth, h: cardHeight });
    layout.height = Math.max(layout.height, from + cardHeight);
  });
  return layout;
}
