// The controller's API as this page uses it: plain requests, and streams of server-sent events that are taken up again
// where they broke off.

export type LinkStateName = 'active' | 'down' | 'held-down';

export interface States {
  shape: number;
  revision: number;
  down: number[];
  held_down: number[];
  absent: number[];
}

export interface Topology {
  tiers: number;
  pods: number;
  kinds: string[];
  rates: string[];
  nodes: { guid: string[]; name: string[]; kind: number[]; tier: number[]; pod: number[]; ports: number[] };
  links: { a: number[]; a_port: number[]; b: number[]; b_port: number[]; rate: number[] };
  states: States;
}

export interface Fabric {
  state: string;
  place: string;
  emulated: boolean;
  routing: string | null;
  switches: number;
  hosts: number;
  absent: number;
  links: { active: number; down: number; held_down: number };
  lids: number;
  virtual_lanes: number;
  proof: { pairs: number; unreachable: number; loops: number; credit_loops: number } | null;
  refused: string | null;
  heals: { count: number; last_ms: number; longest_ms: number; seconds: number };
  findings: { kind: string; place: string; message: string; mend: string }[];
  newest_event: number;
  time: string;
  started: string;
  version: string;
}

export interface HappenedEvent {
  number: number;
  time: string;
  kind: string;
  severity: 'info' | 'warning' | 'error';
  subject?: string;
  cause?: string;
  text: string;
  data?: Record<string, unknown>;
}

export interface Link {
  id: string;
  ends: { guid: string; name: string; port: number }[];
  state: LinkStateName;
  rate: string | null;
  gbps: number | null;
  since: string;
  losses: number;
}

export interface Way {
  from_lid: number;
  to_lid: number;
  service_level: number | null;
  hops: { from_guid: string; from_name: string; from_port: number; to_guid: string; to_name: string; to_port: number; gbps: number | null }[];
  arrives: boolean;
}

/** What the controller said that it cannot do, and what would mend it (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly mend: string,
  ) {
    super(detail);
  }
}

const TOKEN = 'heddle-token';

function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/** Keeps the token for this tab alone. */
export function giveToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

async function problem(answer: Response): Promise<Problem> {
  const said = (await answer.json().catch(() => ({}))) as { detail?: string; mend?: string };
  return new Problem(answer.status, said.detail ?? `${answer.status} ${answer.statusText}`, said.mend ?? '');
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(`/api/v1/${path}`, { headers: headers(), signal });
  if (!answer.ok) throw await problem(answer);
  return (await answer.json()) as T;
}

export async function post<T>(path: string, body?: unknown): Promise<T | undefined> {
  const init: RequestInit = { method: 'POST', headers: headers() };
  if (body !== undefined) {
    init.headers = headers({ 'Content-Type': 'application/json' });
    init.body = JSON.stringify(body);
  }
  const answer = await fetch(`/api/v1/${path}`, init);
  if (!answer.ok) throw await problem(answer);
  const text = await answer.text();
  return text ? (JSON.parse(text) as T) : undefined;
}

const SHORTEST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/**
 * Follows a stream for as long as the page lives. `live` hears whether it is connected, or why it cannot be. A plain
 * EventSource cannot bear a token.
 */
export function follow(path: string, hear: (data: string) => void, live: (now: boolean, why?: Problem) => void): void {
  let last = '';
  let pause = SHORTEST_PAUSE;
  const read = async (): Promise<void> => {
    const answer = await fetch(`/api/v1/${path}`, { headers: headers(last ? { 'Last-Event-ID': last } : {}) });
    if (!answer.ok || !answer.body) throw await problem(answer);
    live(true);
    pause = SHORTEST_PAUSE;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data: string[] = [];
        for (const line of block.split('\n')) {
          if (line.startsWith('id:')) last = line.slice(3).trim();
          else if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
        }
        if (data.length) hear(data.join('\n'));
      }
    }
  };
  const again = (why?: unknown): void => {
    live(false, why instanceof Problem ? why : undefined);
    setTimeout(begin, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };
  const begin = (): void => {
    read().then(() => again(), again);
  };
  begin();
}
