// Which node or link lies at a place of the map.

import type { Layout } from './layout';
import type { Model } from './model';

const CELL = 6;

export class Picker {
  private readonly cells = new Map<number, number[]>();
  private readonly columns: number;

  constructor(
    private readonly model: Model,
    private readonly layout: Layout,
  ) {
    this.columns = Math.ceil(layout.width / CELL) + 2;
    for (let node = 0; node < model.count; node++) {
      if (layout.cardOf[node] < 0) continue;
      // A wide bar lies in several cells.
      const from = layout.x[node] - layout.halfWidth[node];
      const to = layout.x[node] + layout.halfWidth[node];
      for (let column = Math.floor(from / CELL); column <= Math.floor(to / CELL); column++) {
        const cell = this.cell(column, Math.floor(layout.y[node] / CELL));
        const list = this.cells.get(cell);
        if (list) list.push(node);
        else this.cells.set(cell, [node]);
      }
    }
  }

  private cell(column: number, row: number): number {
    return (row + 1) * this.columns + column + 1;
  }

  /** The nodes in a rectangle, and some around it. */
  within(left: number, top: number, right: number, bottom: number): Set<number> {
    const found = new Set<number>();
    for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row++) {
      for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column++) {
        if (column < -1 || column > this.columns - 2) continue;
        for (const node of this.cells.get(this.cell(column, row)) ?? []) found.add(node);
      }
    }
    return found;
  }

  /** The nearest node no farther than `slack` from its drawing. */
  node(x: number, y: number, slack: number): number | undefined {
    const { layout } = this;
    const reach = Math.min(slack, CELL);
    let best: number | undefined;
    let least = Infinity;
    for (const node of this.within(x - reach, y - reach, x + reach, y + reach)) {
      const beyond = Math.max(Math.abs(x - layout.x[node]) - layout.halfWidth[node], Math.abs(y - layout.y[node]) - layout.halfHeight[node]);
      const limit = this.model.isSwitch[node] ? slack * 0.4 : slack * 0.6;
      if (beyond <= limit && beyond < least) {
        least = beyond;
        best = node;
      }
    }
    return best;
  }

  /** The nearest link no farther than `slack`, of `links` or of all; with `withinCards` of those that leave no card. */
  link(x: number, y: number, slack: number, links?: number[], withinCards = false): number | undefined {
    const { model, layout } = this;
    let best: number | undefined;
    let least = slack * slack;
    const count = links ? links.length : model.linkCount;
    for (let at = 0; at < count; at++) {
      const link = links ? links[at] : at;
      const [a, b] = [model.a[link], model.b[link]];
      if (withinCards && layout.cardOf[a] !== layout.cardOf[b]) continue;
      const [upper, lower] = layout.y[a] <= layout.y[b] ? [a, b] : [b, a];
      const [x1, y1] = [layout.x[upper], layout.y[upper] + layout.halfHeight[upper]];
      const [x2, y2] = [layout.x[lower], layout.y[lower] - layout.halfHeight[lower]];
      if (y < y1 - slack || y > Math.max(y1, y2) + slack) continue;
      const [dx, dy] = [x2 - x1, y2 - y1];
      const length = dx * dx + dy * dy;
      const part = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / length));
      const [ex, ey] = [x - x1 - part * dx, y - y1 - part * dy];
      const distance = ex * ex + ey * ey;
      if (distance < least) {
        least = distance;
        best = link;
      }
    }
    return best;
  }
}
