// http: every list is paged in one way, and a walk over it neither repeats nor loses a row, whatever is added meanwhile.
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../src/domain/episode.ts';
import { bodyOf, type Endpoint, openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, intent, plan } from '../../support/filled-store.ts';
import { RULE } from '../../support/rule-samples.ts';

interface List {
  path: string;
  /** Of its rows. */
  key: string;
  /** Each next page begins `before` or `after` the position. */
  by?: 'before' | 'after';
  add(to: Endpoint & { rules: (typeof RULE)[] }, no: number): Promise<unknown>;
}

const basisOf = (no: number) =>
  intent().basis.map((one) => ({ ...one, subjectId: `device-${no}`, episodeId: `episode${no}` }));
const planned = (no: number) => intent({ id: `intent${no}`, target: `T-${no}`, basis: basisOf(no) });
const claimed = (no: number): Claim => ({
  id: `claim${no}`,
  episodeId: `episode${no}`,
  rule: RULE.id,
  subjectId: `device-${no}`,
  action: 'ban_device',
  target: `T-${no}`,
  intentId: `intent${no}`,
  status: 'standing',
  openedAt: 1,
  endedAt: undefined,
});
const addDecision: List['add'] = ({ store }, no) =>
  addRun(store, { id: `run${no}`, decisions: [decision({ id: `decision${no}`, target: `T-${no}` })] });

const LISTS: List[] = [
  { path: '/api/runs?', key: 'runs', add: ({ store }, no) => addRun(store, { id: `run${no}` }) },
  {
    path: '/api/plans?status=pending&',
    key: 'plans',
    add: ({ store }, no) =>
      addRun(store, { id: `run${no}`, plan: plan(decision({ decision: 'hold' }), { id: `plan${no}` }) }),
  },
  { path: '/api/decisions?', key: 'decisions', add: addDecision },
  { path: '/api/subjects/device/device-1?', key: 'decisions', add: addDecision },
  {
    path: '/api/intents?status=planned&',
    key: 'intents',
    add: ({ store }, no) => addRun(store, { id: `run${no}`, mode: 'enforce', intents: [planned(no)] }),
  },
  {
    path: '/api/claims?',
    key: 'claims',
    add: ({ store }, no) =>
      addRun(store, { id: `run${no}`, mode: 'enforce', intents: [planned(no)], claims: [claimed(no)] }),
  },
  {
    path: '/api/notifications?',
    key: 'notifications',
    add: ({ store }, no) =>
      store
        .outbox()
        .raise([{ key: `alert ${no}`, code: 'silence', text: 'no run', about: {} }], ['ops'], () => `note${no}`),
  },
  {
    path: '/api/exemptions?',
    key: 'exemptions',
    add: async ({ ask }, no) => {
      const body = { selector: { field: 'Name', value: `M${no}` }, owner: 'ana', reason: 'a test', until: '30d' };
      expect((await ask('POST', '/api/exemptions', { body })).status).toBe(201);
    },
  },
  {
    path: '/api/tokens?',
    key: 'tokens',
    add: async ({ ask }, no) => {
      expect((await ask('POST', '/api/tokens', { body: { name: `n${no}`, scope: 'read' } })).status).toBe(201);
    },
  },
  {
    path: '/api/rules?',
    key: 'rules',
    by: 'after',
    add: async ({ rules }, no) => rules.push({ ...RULE, id: `rule-${no % 2 === 0 ? 'a' : 'b'}${no}` }),
  },
  {
    path: '/api/audit?kind=notice&',
    key: 'entries',
    add: ({ store }, no) => store.appendAudit([{ kind: 'notice', body: { no } }]),
  },
  {
    path: '/api/audit?kind=notice&after=0&',
    key: 'entries',
    by: 'after',
    add: ({ store }, no) => store.appendAudit([{ kind: 'notice', body: { no } }]),
  },
];

type Row = { id?: string; seq?: number };

function opened() {
  const rules: (typeof RULE)[] = [];
  let ids = 0;
  const endpoint = openEndpoint({ rules: () => rules });
  return { ...endpoint, rules, nextNo: () => (ids += 1) };
}

const nameOf = ({ id, seq }: Row) => id ?? seq;

describe('a walk over a list', () => {
  it.each(LISTS)('of $path shows each row that was there exactly once, while others are added', async (list) => {
    const on = opened();
    for (let at = 0; at < 7; at += 1) await list.add(on, on.nextNo());
    const read = async (query: string): Promise<{ rows: Row[]; next: string | number | null }> => {
      const body = await bodyOf<Record<string, never>>(on.ask('GET', `${list.path}${query}`));
      return { rows: body[list.key] as unknown as Row[], next: body.next as unknown as string | null };
    };
    const before = await read('limit=50');
    expect([before.rows.length, before.next]).toEqual([7, null]);
    const seen: unknown[] = [];
    let next: string | number | null = null;
    let pages = 0;
    do {
      const path: string = list.path.includes('after=0') && next !== null ? '/api/audit?kind=notice&' : list.path;
      const from: string = next === null ? '' : `&${list.by ?? 'before'}=${encodeURIComponent(next)}`;
      const body = await bodyOf<Record<string, never>>(on.ask('GET', `${path}limit=2${from}`));
      seen.push(...(body[list.key] as unknown as Row[]).map(nameOf));
      next = body.next as unknown as string | null;
      pages += 1;
      if (pages < 5) await list.add(on, on.nextNo());
    } while (next !== null && pages < 20);
    expect(next).toBeNull();
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(before.rows.map(nameOf)));
  });

  it.each(LISTS.filter(({ by, key }) => by === undefined && !['runs', 'entries'].includes(key)))(
    'of $path is refused, and does not end, when its position is gone',
    async (list) => {
      const on = opened();
      await list.add(on, on.nextNo());
      const answer = await on.ask('GET', `${list.path}before=no-such-row`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        detail: expect.stringContaining('read it again from its beginning'),
      });
    },
  );
});
