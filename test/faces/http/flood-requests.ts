// test: random requests with a `trigger` token, from a seed: runs, reports, explains, lists, malformed bodies and paths. In: a
// seed and what is known of the daemon. Out: requests. It never gives a command that a `trigger` token may give only once.

export interface FloodRequest {
  method: string;
  path: string;
  body?: string;
}

/** Ids that exist; requests use them and others. */
export interface Known {
  rules: string[];
  runs: string[];
  subjects: string[];
}

/** mulberry32: 0 to below 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const LISTS = ['runs', 'decisions', 'intents', 'claims', 'plans', 'audit', 'exemptions', 'notifications', 'rules'];
const WORDS = [
  '1',
  '7',
  '1000',
  '0',
  '-1',
  'x',
  '',
  'latest',
  'act',
  'hold',
  'settled',
  'parked',
  'pending',
  '%00',
  '%F0%9F%92%A5',
  'a'.repeat(900),
];
const QUERIES = [
  'limit',
  'before',
  'after',
  'status',
  'outcome',
  'rule',
  'run',
  'subject',
  'decision',
  'kind',
  'inForce',
  'no-such',
];
const BODIES = [
  '',
  '{',
  '[]',
  'null',
  '{"mode":"off"}',
  '{"mode":"dry-run","mode":"enforce"}',
  '{"mode":"dry-run","rules":[]}',
  '['.repeat(9_000),
  '\u0000',
  `{"subject":"${'x'.repeat(2_000)}"}`,
  `"${'y'.repeat(70_000)}"`,
];
const PATHS = [
  '/',
  '/api',
  '/api/',
  '/api/nothing',
  '/api/runs/',
  '/api/runs/%zz',
  '/api/runs/%2e%2e%2fx',
  '//api//runs',
  '/api/runs/latest/report/x',
  `/api/${'a/'.repeat(300)}`,
  '/readyz?x=1',
  '/healthz',
  '/api/runs/..',
  '/api/subjects/nobody/x',
  '/api/subjects/device/%ff',
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'];
const COMMANDS = [
  'stop',
  'resume',
  'tokens',
  'claims/release',
  'exemptions',
  'snapshot/accept',
  'plans/x/approve',
  'intents/x/resolve',
];

export function floodRequests(seed: number, known: Known): () => FloodRequest {
  const next = seeded(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  const chance = (share: number) => next() < share;
  const idOf = (from: readonly string[]) =>
    encodeURIComponent(chance(0.7) ? pick(from) : `unknown-${Math.floor(next() * 1e6)}`);
  const query = () => {
    const parts = Array.from({ length: Math.floor(next() * 3) }, () => `${pick(QUERIES)}=${pick(WORDS)}`);
    return parts.length === 0 ? '' : `?${parts.join('&')}`;
  };
  const run = (): FloodRequest => {
    const rules = chance(0.5) ? {} : { rules: chance(0.9) ? [pick(known.rules)] : ['unknown'] };
    const body = { mode: pick(['dry-run', 'dry-run', 'approve', 'enforce']), ...rules, wait: chance(0.1) };
    return { method: 'POST', path: '/api/runs', body: JSON.stringify(body) };
  };
  const explain = (): FloodRequest => {
    const subject = chance(0.6) ? pick(known.subjects) : `unknown-${Math.floor(next() * 1e6)}`;
    return { method: 'POST', path: `/api/rules/${idOf(known.rules)}/explain`, body: JSON.stringify({ subject }) };
  };
  const report = () => {
    const format = pick(['', '?format=json', '?format=md', '?format=text', '?format=pdf']);
    return get(`/api/runs/${chance(0.4) ? 'latest' : idOf(known.runs)}/report${format}`);
  };
  const post = (path: string): FloodRequest => ({ method: 'POST', path, body: pick(BODIES) });
  const kinds: [share: number, make: () => FloodRequest][] = [
    [6, run],
    [14, report],
    [6, explain],
    [36, () => get(`/api/${pick(LISTS)}${query()}`)],
    [
      10,
      () =>
        get(
          pick([
            `/api/runs/${idOf(known.runs)}`,
            `/api/subjects/device/${idOf(known.subjects)}`,
            `/api/rules/${idOf(known.rules)}`,
          ]),
        ),
    ],
    [12, () => post(pick(['/api/runs', `/api/rules/${pick(known.rules)}/explain`, '/api/audit/verify?x']))],
    [10, () => ({ method: pick(METHODS), path: pick(PATHS) })],
    [4, () => post(`/api/${pick(COMMANDS)}`)],
    [1.7, () => get('/readyz')],
    [0.3, () => ({ method: 'POST', path: '/api/audit/verify' })],
  ];
  const makes = kinds.flatMap(([share, make]) => Array<() => FloodRequest>(share * 10).fill(make));
  return () => pick(makes)();
}

function get(path: string): FloodRequest {
  return { method: 'GET', path };
}
