// The fabric's graph as the page works with it: typed arrays, links by node, what is out of service.

import type { LinkStateName, States, Topology } from './api';

export const ACTIVE = 0;
export const DOWN = 1;
export const HELD = 2;
const NAMES: LinkStateName[] = ['active', 'down', 'held-down'];

export class Model {
  readonly count: number;
  readonly linkCount: number;
  readonly name: string[];
  readonly guid: string[];
  readonly tier: Uint8Array;
  readonly pod: Uint32Array;
  readonly isSwitch: Uint8Array;
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly aPort: Uint8Array;
  readonly bPort: Uint8Array;
  readonly tiers: number;
  readonly pods: number;
  readonly shape: number;
  /** The switch that each host's first link leads to; -1 of all else. */
  readonly home: Int32Array;
  /** Where each node's links begin in `linksAt`. */
  private readonly first: Uint32Array;
  private readonly linksAt: Uint32Array;
  readonly state: Uint8Array;
  absent = new Set<number>();
  down: number[] = [];
  held: number[] = [];
  private byName: Map<string, number> | undefined;
  private byGuid: Map<string, number> | undefined;

  constructor(private readonly topology: Topology) {
    const { nodes, links } = topology;
    this.count = nodes.guid.length;
    this.linkCount = links.a.length;
    this.name = nodes.name;
    this.guid = nodes.guid;
    this.tier = Uint8Array.from(nodes.tier);
    this.pod = Uint32Array.from(nodes.pod);
    const switchKind = topology.kinds.indexOf('switch');
    this.isSwitch = Uint8Array.from(nodes.kind, (kind) => Number(kind === switchKind));
    this.a = Uint32Array.from(links.a);
    this.b = Uint32Array.from(links.b);
    this.aPort = Uint8Array.from(links.a_port);
    this.bPort = Uint8Array.from(links.b_port);
    this.tiers = topology.tiers;
    this.pods = topology.pods;
    this.shape = topology.states.shape;
    this.state = new Uint8Array(this.linkCount);
    this.home = new Int32Array(this.count).fill(-1);
    this.first = new Uint32Array(this.count + 1);
    for (let link = 0; link < this.linkCount; link++) {
      const [a, b] = [this.a[link], this.b[link]];
      this.first[a + 1]++;
      this.first[b + 1]++;
      if (!this.isSwitch[a] && this.isSwitch[b] && this.home[a] < 0) this.home[a] = b;
      if (!this.isSwitch[b] && this.isSwitch[a] && this.home[b] < 0) this.home[b] = a;
    }
    for (let node = 0; node < this.count; node++) this.first[node + 1] += this.first[node];
    const next = this.first.slice();
    this.linksAt = new Uint32Array(this.linkCount * 2);
    for (let link = 0; link < this.linkCount; link++) {
      this.linksAt[next[this.a[link]]++] = link;
      this.linksAt[next[this.b[link]]++] = link;
    }
    this.take(topology.states);
  }

  /** Takes in what is out of service now; only for states of this shape. */
  take(states: States): void {
    this.state.fill(ACTIVE);
    for (const link of states.down) this.state[link] = DOWN;
    for (const link of states.held_down) this.state[link] = HELD;
    this.down = states.down;
    this.held = states.held_down;
    this.absent = new Set(states.absent);
  }

  kind(node: number): string {
    return this.topology.kinds[this.topology.nodes.kind[node]];
  }

  ports(node: number): number {
    return this.topology.nodes.ports[node];
  }

  rate(link: number): string {
    return this.topology.rates[this.topology.links.rate[link]];
  }

  stateName(link: number): LinkStateName {
    return NAMES[this.state[link]];
  }

  /** A node's links by the port there. */
  linksOf(node: number): { port: number; link: number; peer: number; peerPort: number }[] {
    const found = [];
    for (let at = this.first[node]; at < this.first[node + 1]; at++) {
      const link = this.linksAt[at];
      const isA = this.a[link] === node;
      found.push({
        port: isA ? this.aPort[link] : this.bPort[link],
        link,
        peer: isA ? this.b[link] : this.a[link],
        peerPort: isA ? this.bPort[link] : this.aPort[link],
      });
    }
    return found.sort((one, other) => one.port - other.port);
  }

  /** The link at a port of a node, by name or GUID. */
  linkAt(node: number, port: number): number | undefined {
    return this.linksOf(node).find((has) => has.port === port)?.link;
  }

  find(wanted: string): number | undefined {
    this.byName ??= new Map(this.name.map((name, at) => [name, at]));
    this.byGuid ??= new Map(this.guid.map((guid, at) => [guid, at]));
    return this.byName.get(wanted) ?? this.byGuid.get(wanted);
  }

  /** Nodes whose names contain a text, the switches first. */
  search(text: string, most: number): number[] {
    const wanted = text.toLowerCase();
    const [switches, others]: number[][] = [[], []];
    for (let node = 0; node < this.count; node++) {
      if (!this.name[node].toLowerCase().includes(wanted) && !this.guid[node].includes(wanted)) continue;
      const list = this.isSwitch[node] ? switches : others;
      if (list.length < most) list.push(node);
    }
    return [...switches, ...others].slice(0, most);
  }

  label(link: number): [string, string] {
    return [`${this.name[this.a[link]]}[${this.aPort[link]}]`, `${this.name[this.b[link]]}[${this.bPort[link]}]`];
  }
}
