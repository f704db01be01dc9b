// Draws the fabric with deck.gl: cards, links, switches and hosts from flat arrays; names on a canvas over them. What
// lies under the pointer is found from the layout, without asking the graphics card.

import { Deck, OrthographicView, type Layer, type OrthographicViewState } from '@deck.gl/core';
import { LineLayer, ScatterplotLayer, SolidPolygonLayer } from '@deck.gl/layers';
import type { Card, Layout } from './layout';
import { ACTIVE, DOWN, HELD, type Model } from './model';
import { Picker } from './picker';
import type { Palette } from './theme';

/** What is chosen or shown on the map. */
export interface Marks {
  node?: number;
  link?: number;
  /** Links of a path, in order. */
  way: number[];
  /** Links that a question takes out. */
  taken: number[];
}

/** With so many links between switches or fewer, each is drawn however far away. */
const FEW = 6_000;
/** Pixels a unit from which each link is drawn. */
const NEAR = 7;
const MOST_BUNDLES = 1_500;
const MARGIN = 20;
/** Room at the bottom for the buttons and the legend. */
const FOOT = 52;

interface View {
  target: [number, number];
  zoom: number;
}

export interface MapEvents {
  hover(node: number | undefined, link: number | undefined, x: number, y: number): void;
  click(node: number | undefined, link: number | undefined): void;
}

type Flat = { length: number; attributes: Record<string, { value: Float32Array | Uint8Array; size: number; normalized?: boolean }> };

export class FabricMap {
  private readonly deck: Deck<OrthographicView>;
  private readonly picker: Picker;
  private view: View = { target: [0, 0], zoom: 0 };
  private marks: Marks = { way: [], taken: [] };
  private readonly fewLinks: boolean;
  private readonly between: Flat;
  private readonly within: Flat;
  private readonly toHosts: Flat;
  private readonly bundles: Flat;
  private near = false;
  private readonly observer: ResizeObserver;
  private width = 1;
  private height = 1;

  constructor(
    private readonly box: HTMLElement,
    canvas: HTMLCanvasElement,
    private readonly labels: HTMLCanvasElement,
    private readonly model: Model,
    private readonly layout: Layout,
    private palette: Palette,
    events: MapEvents,
  ) {
    const between: number[] = [];
    const within: number[] = [];
    const toHosts: number[] = [];
    for (let link = 0; link < model.linkCount; link++) {
      const both = model.isSwitch[model.a[link]] && model.isSwitch[model.b[link]];
      const isWithin = layout.cardOf[model.a[link]] === layout.cardOf[model.b[link]];
      (both ? (isWithin ? within : between) : toHosts).push(link);
    }
    this.fewLinks = between.length + within.length <= FEW;
    this.between = this.lines(between);
    this.within = this.lines(within);
    this.toHosts = this.lines(toHosts);
    this.bundles = this.fewLinks ? this.lines([]) : this.bundled(between);
    this.picker = new Picker(model, layout);
    this.measure();
    this.view = this.whole();
    this.near = this.scale() >= NEAR;
    this.deck = new Deck<OrthographicView>({
      canvas,
      width: this.width,
      height: this.height,
      views: new OrthographicView({ id: 'fabric', flipY: true }),
      controller: { scrollZoom: { speed: 0.008, smooth: false }, dragRotate: false, doubleClickZoom: true, keyboard: true, inertia: 150 },
      initialViewState: this.view as unknown as OrthographicViewState,
      getCursor: ({ isDragging }) => (isDragging ? 'grabbing' : 'default'),
      onViewStateChange: ({ viewState }) => {
        const state = viewState as unknown as View;
        this.view = { target: [state.target[0], state.target[1]], zoom: state.zoom };
        const near = this.scale() >= NEAR;
        if (near !== this.near) {
          this.near = near;
          this.draw();
        }
        this.write();
      },
      onHover: ({ x, y }) => {
        const { node, link } = this.at(x, y);
        events.hover(node, link, x, y);
      },
      onClick: ({ x, y }) => {
        const { node, link } = this.at(x, y);
        events.click(node, link);
      },
      layers: [],
    });
    this.draw();
    this.observer = new ResizeObserver(() => {
      const fits = this.isWhole();
      this.measure();
      this.deck.setProps({ width: this.width, height: this.height });
      if (fits) this.show();
      this.write();
    });
    this.observer.observe(box);
  }

  private measure(): void {
    this.width = Math.max(1, this.box.clientWidth);
    this.height = Math.max(1, this.box.clientHeight);
    const ratio = window.devicePixelRatio || 1;
    this.labels.width = this.width * ratio;
    this.labels.height = this.height * ratio;
  }

  private scale(): number {
    return 2 ** this.view.zoom;
  }

  private fitted(x: number, y: number, w: number, h: number): View {
    const room = Math.max(1e-3, Math.min((this.width - 2 * MARGIN) / w, (this.height - MARGIN - FOOT) / h));
    return { target: [x + w / 2, y + h / 2 + (FOOT - MARGIN) / 2 / room], zoom: Math.log2(room) };
  }

  private whole(): View {
    return this.fitted(0, 0, this.layout.width, this.layout.height);
  }

  private isWhole(): boolean {
    const whole = this.whole();
    return Math.abs(this.view.zoom - whole.zoom) < 0.01;
  }

  private go(view: View): void {
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.view = view;
    // A new object each time: deck.gl goes where it has not been told to go before.
    const state = { ...view, transitionDuration: still ? 0 : 350 };
    this.deck.setProps({ initialViewState: state as unknown as OrthographicViewState });
    this.near = this.scale() >= NEAR;
    this.draw();
  }

  /** Shows the whole fabric. */
  show(): void {
    this.go(this.whole());
  }

  /** Goes nearer or farther, in the middle. */
  zoom(by: number): void {
    this.go({ target: this.view.target, zoom: this.view.zoom + by });
  }

  showCard(card: Card): void {
    this.go(this.fitted(card.x, card.y, card.w, card.h));
  }

  /** Shows a node with what is around it. */
  showNode(node: number): void {
    const { x, y } = this.layout;
    const zoom = Math.max(this.view.zoom, Math.log2(22));
    this.go({ target: [x[node], y[node]], zoom });
  }

  /** Shows all of these nodes. */
  showNodes(nodes: number[]): void {
    if (nodes.length === 0) return;
    const { x, y } = this.layout;
    const [xs, ys] = [nodes.map((node) => x[node]), nodes.map((node) => y[node])];
    const [left, top] = [Math.min(...xs) - 4, Math.min(...ys) - 4];
    this.go(this.fitted(left, top, Math.max(...xs) - left + 4, Math.max(...ys) - top + 4));
  }

  private place(x: number, y: number): [number, number] {
    const scale = this.scale();
    return [(x - this.width / 2) / scale + this.view.target[0], (y - this.height / 2) / scale + this.view.target[1]];
  }

  private at(x: number, y: number): { node?: number; link?: number } {
    const [left, top] = this.place(x, y);
    const scale = this.scale();
    const lost = [...this.model.down, ...this.model.held];
    const node = this.picker.node(left, top, 5 / scale);
    if (node !== undefined && (this.model.isSwitch[node] || scale > 3)) return { node };
    // Links that are drawn one by one can be pointed at.
    const all = this.near || this.fewLinks;
    const link = this.picker.link(left, top, 4 / scale, lost) ?? (all ? this.picker.link(left, top, 3 / scale, undefined, !this.fewLinks) : undefined);
    return { node: link === undefined ? node : undefined, link };
  }

  mark(marks: Marks): void {
    this.marks = marks;
    this.draw();
  }

  dress(palette: Palette): void {
    this.palette = palette;
    this.draw();
  }

  /** Draws anew what has changed: states, marks, colours. */
  redraw(): void {
    this.draw();
  }

  end(): void {
    this.observer.disconnect();
    this.deck.finalize();
  }

  private lines(links: number[]): Flat {
    const { x, y, halfHeight } = this.layout;
    const source = new Float32Array(links.length * 3);
    const target = new Float32Array(links.length * 3);
    links.forEach((link, at) => {
      const [a, b] = [this.model.a[link], this.model.b[link]];
      const [upper, lower] = y[a] <= y[b] ? [a, b] : [b, a];
      source.set([x[upper], y[upper] + halfHeight[upper], 0], at * 3);
      target.set([x[lower], y[lower] - halfHeight[lower], 0], at * 3);
    });
    return {
      length: links.length,
      attributes: { getSourcePosition: { value: source, size: 3 }, getTargetPosition: { value: target, size: 3 } },
    };
  }

  /** Links between cards as few lines: a pod's with each part of the top tier. */
  private bundled(links: number[]): Flat {
    const { cards, cardOf, x, y, halfHeight } = this.layout;
    const parts = Math.max(1, Math.floor(MOST_BUNDLES / Math.max(1, cards.length)));
    const rank = new Map<number, number>();
    cards.forEach((card) => card.switches.forEach((node, at) => rank.set(node, Math.floor((at * parts) / card.switches.length))));
    const found = new Map<string, { upper: number; lower: number }>();
    for (const link of links) {
      const [a, b] = [this.model.a[link], this.model.b[link]];
      if (cardOf[a] === cardOf[b]) continue;
      const [upper, lower] = y[a] <= y[b] ? [a, b] : [b, a];
      const key = `${cardOf[upper]}.${rank.get(upper)}.${cardOf[lower]}`;
      if (!found.has(key)) found.set(key, { upper, lower });
    }
    const source = new Float32Array(found.size * 3);
    const target = new Float32Array(found.size * 3);
    [...found.values()].forEach(({ upper, lower }, at) => {
      const card = cards[cardOf[lower]];
      source.set([x[upper], y[upper] + halfHeight[upper], 0], at * 3);
      target.set([card.x + card.w / 2, card.y, 0], at * 3);
    });
    return {
      length: found.size,
      attributes: { getSourcePosition: { value: source, size: 3 }, getTargetPosition: { value: target, size: 3 } },
    };
  }

  private draw(): void {
    const { palette, model, layout, marks } = this;
    const line = (id: string, data: Flat, color: number[], width: number): Layer =>
      new LineLayer({ id, data: data as never, getColor: color as never, getWidth: width, widthUnits: 'pixels', updateTriggers: { getColor: color } });
    const some = (id: string, links: number[], color: number[], width: number): Layer => line(id, this.lines(links), color, width);
    const layers: Layer[] = [];
    const all = this.fewLinks || this.near;
    // Links between cards shine through the cards that they pass; those within a card lie on it.
    const none = this.lines([]);
    layers.push(line('bundles', this.fewLinks ? none : this.bundles, palette.bundle, 1));
    layers.push(line('between', this.fewLinks ? this.between : none, palette.line, 1));
    layers.push(
      new SolidPolygonLayer({
        id: 'cards',
        data: layout.cards,
        getPolygon: (card: Card) => [[card.x, card.y], [card.x + card.w, card.y], [card.x + card.w, card.y + card.h], [card.x, card.y + card.h]],
        getFillColor: palette.card as never,
        updateTriggers: { getFillColor: palette.card },
      }),
    );
    layers.push(line('within', all ? this.within : none, palette.line, 1));
    layers.push(line('to-hosts', this.near ? this.toHosts : none, palette.line, 1));
    layers.push(...this.devices());
    layers.push(some('held', model.held, palette.held, 2.5), some('down', model.down, palette.down, 2.5));
    // Of one node all links are seen, however many the fabric has.
    const own = marks.node === undefined ? [] : model.linksOf(marks.node).map((has) => has.link);
    layers.push(some('own', own.filter((link) => model.state[link] === ACTIVE), palette.own, 1.5));
    layers.push(some('taken', marks.taken, palette.taken, 3));
    layers.push(some('way', marks.way, palette.way, 4));
    layers.push(some('chosen', marks.link === undefined ? [] : [marks.link], palette.chosen, 4));
    const ends = [...model.down, ...model.held].flatMap((link) => [model.a[link], model.b[link]]);
    const stops = marks.way.flatMap((link) => [model.a[link], model.b[link]]);
    const ring = (id: string, nodes: number[], color: number[]): Layer =>
      new ScatterplotLayer({
        id,
        data: nodes,
        getPosition: (node: number) => [layout.x[node], layout.y[node]],
        getRadius: (node: number) => Math.max(layout.halfHeight[node], 0.3) * 1.5,
        radiusMinPixels: 4,
        stroked: true,
        filled: false,
        getLineColor: color as never,
        lineWidthUnits: 'pixels',
        getLineWidth: 2,
        updateTriggers: { getLineColor: color },
      });
    layers.push(ring('lost-ends', ends, palette.down), ring('stops', stops, palette.way));
    layers.push(ring('node', marks.node === undefined ? [] : [marks.node], palette.chosen));
    this.deck.setProps({ layers });
    this.write();
  }

  private devices(): Layer[] {
    const { palette, model, layout } = this;
    const hosts: number[] = [];
    const switches: number[] = [];
    for (let node = 0; node < model.count; node++) {
      if (layout.cardOf[node] < 0) continue;
      (model.isSwitch[node] ? switches : hosts).push(node);
    }
    const lost = new Map<number, number>();
    for (const link of [...model.held, ...model.down]) {
      for (const node of [model.a[link], model.b[link]]) if (!model.isSwitch[node]) lost.set(node, model.state[link]);
    }
    const positions = new Float32Array(hosts.length * 3);
    const colors = new Uint8Array(hosts.length * 4);
    const radii = new Float32Array(hosts.length);
    hosts.forEach((node, at) => {
      positions.set([layout.x[node], layout.y[node], 0], at * 3);
      radii[at] = layout.halfWidth[node];
      const state = lost.get(node) ?? (model.absent.has(node) ? DOWN : ACTIVE);
      colors.set(state === DOWN ? palette.down : state === HELD ? palette.held : palette.host, at * 4);
    });
    const dots: Flat = {
      length: hosts.length,
      attributes: { getPosition: { value: positions, size: 3 }, getFillColor: { value: colors, size: 4, normalized: true }, getRadius: { value: radii, size: 1 } },
    };
    const color = (node: number): number[] => (model.absent.has(node) ? palette.down : model.tier[node] <= 1 ? palette.leaf : palette.upper);
    return [
      new ScatterplotLayer({ id: 'hosts', data: dots as never, radiusMinPixels: 0.7 }),
      new SolidPolygonLayer({
        id: 'switches',
        data: switches,
        getPolygon: (node: number) => {
          const { x, y, halfWidth: w, halfHeight: h } = layout;
          return [[x[node] - w[node], y[node] - h[node]], [x[node] + w[node], y[node] - h[node]], [x[node] + w[node], y[node] + h[node]], [x[node] - w[node], y[node] + h[node]]];
        },
        getFillColor: color as never,
        updateTriggers: { getFillColor: [palette.leaf, [...model.absent]] },
      }),
    ];
  }

  /** Writes the names that have room. */
  private write(): void {
    const pen = this.labels.getContext('2d');
    if (!pen) return;
    const { layout, model, palette } = this;
    const ratio = window.devicePixelRatio || 1;
    const scale = this.scale();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const [left, top] = this.place(0, 0);
    const [right, bottom] = this.place(this.width, this.height);
    const onScreen = (x: number, y: number): [number, number] => [(x - left) * scale, (y - top) * scale];
    const fits = (text: string, room: number): string | undefined => {
      const width = pen.measureText(text).width;
      if (width <= room) return text;
      const short = text.replace(/^.*[\s]/, '');
      return short !== text && pen.measureText(short).width <= room ? short : undefined;
    };
    for (const card of layout.cards) {
      if (card.x > right || card.x + card.w < left || card.y > bottom || card.y + card.h < top) continue;
      pen.font = '600 12px system-ui, sans-serif';
      pen.fillStyle = palette.text;
      pen.textAlign = 'left';
      pen.textBaseline = 'middle';
      const title = this.title(card);
      const [x, y] = onScreen(card.x, card.y);
      const text = TITLE_ROOM * scale >= 12 ? fits(title, card.w * scale - 8) : fits(title, card.w * scale - 4);
      if (text && TITLE_ROOM * scale >= 9) pen.fillText(text, x + Math.min(8, 1.4 * scale), y + (TITLE_ROOM * scale) / 2 + 1);
      if (scale < 5) continue;
      pen.font = '11px system-ui, sans-serif';
      pen.textAlign = 'center';
      for (const node of card.switches) {
        const [nx, ny] = onScreen(layout.x[node], layout.y[node]);
        if (nx < -80 || ny < -20 || nx > this.width + 80 || ny > this.height + 20) continue;
        const isBar = layout.halfWidth[node] > layout.halfHeight[node] * 1.2;
        const name = fits(model.name[node], (isBar ? layout.halfWidth[node] * 2 : 2.5) * scale - 4);
        if (!name) continue;
        pen.fillStyle = isBar ? palette.onLeaf : palette.text;
        pen.fillText(name, nx, isBar ? ny : ny - layout.halfHeight[node] * scale - 8);
      }
    }
    if (scale < 44) return;
    pen.fillStyle = palette.text;
    for (const node of this.picker.within(left, top, right, bottom)) {
      if (model.isSwitch[node]) continue;
      const name = fits(model.name[node], scale - 2);
      const [x, y] = onScreen(layout.x[node], layout.y[node]);
      if (name) pen.fillText(name, x, y + scale * 0.44);
    }
  }

  title: (card: Card) => string = (card) => String(card.pod);
}

const TITLE_ROOM = 2.6;
