// test: a list of the endpoint reads a page and not the table: each statement behind it has a LIMIT, and an index serves its order.
import { describe, expect, it } from 'vitest';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type CountingDb, countingDatabase } from '../support/counting-db.ts';
import { bodyOf, openEndpoint } from '../support/endpoint.ts';
import { addRun, decision, fakeClock, intent, plan } from '../support/filled-store.ts';

const LISTS = [
  '/api/intents',
  '/api/intents?status=settled',
  '/api/intents?outcome=parked',
  '/api/intents?status=settled&outcome=parked',
  '/api/claims',
  '/api/claims?status=standing',
  '/api/intents?status=planned&before=intent1',
  '/api/plans?before=plan1',
  '/api/plans?status=pending&before=plan1',
  '/api/decisions',
  '/api/decisions?run=run1',
  '/api/decisions?rule=ban-compromised-device',
  '/api/decisions?subject=device-1',
  '/api/decisions?target=SERIAL-1',
  '/api/decisions?decision=hold',
  '/api/decisions?action=ban_device&since=12h',
  '/api/decisions?rule=ban-compromised-device&decision=act&before=decision1',
  '/api/decisions?run=run1&subject=device-1&before=decision1',
  '/api/subjects/device/device-1',
  '/api/plans',
  '/api/plans?status=pending',
  '/api/plans?status=applied',
  '/api/plans?status=expired',
  '/api/runs',
  '/api/runs?before=9',
  '/api/audit',
  '/api/audit?after=1',
  '/api/audit?kind=notice',
  '/api/audit?kind=notice&before=9',
  '/api/audit?target=SERIAL-1',
  '/api/audit?actor=ana&since=12h',
  '/api/notifications',
  '/api/notifications?status=given_up',
];

async function filled() {
  const db = countingDatabase();
  const clock = fakeClock();
  const store = new SqliteStore(db, linkEntry, clock);
  await addRun(store, {
    mode: 'enforce',
    decisions: [decision({ intentId: 'intent1' })],
    intents: [intent()],
    plan: plan(decision()),
  });
  await store.appendAudit([{ kind: 'notice', body: { target: 'SERIAL-1' } }]);
  const endpoint = openEndpoint({ reader: store, clock });
  db.asked.clear();
  return { ...endpoint, store, db };
}

describe('the actions that a change window holds', () => {
  it('are counted from an index of them: whoever asks for the health of the daemon makes no pass over its decisions', async () => {
    const { store, db } = await filled();
    await store.heldInForce('frozen');
    const [asked = ''] = [...db.asked.keys()].filter((sql) => sql.includes('AS held'));
    expect(db.planOf(asked).filter((detail) => detail.includes(' decisions '))).toEqual([
      expect.stringContaining('USING INDEX decisions_held (reason=?)'),
    ]);
  });
});

/** Reads of one row, of rows that the caller named, or of the open claims of one subject. */
const NAMED =
  /^SELECT \S+ FROM \w+ WHERE (id (=|>=|IN)|seq =)|^SELECT seq, hash FROM audit|^SELECT no, content FROM planned_intents WHERE no IN|^SELECT \* FROM claims WHERE status = \? AND subject = \?|LIMIT 1$/;

function isPaged(db: CountingDb, sql: string): boolean {
  const isCount = sql.startsWith('SELECT count(*)');
  const plan = db.planOf(sql);
  if (isCount) return plan.every((detail) => detail.includes('COVERING INDEX'));
  return sql.includes('LIMIT ?') && plan.every((detail) => !/TEMP B-TREE/.test(detail) && !isUnordered(sql, detail));
}

/** Reads a table from end to end although a filter was given. */
function isUnordered(sql: string, detail: string): boolean {
  return /^SCAN (?!json_each)/.test(detail) && / = \?/.test(sql);
}

describe('a list of the endpoint', () => {
  it.each(LISTS)('reads no more than its page: %s', async (path) => {
    const { ask, db } = await filled();
    expect((await ask('GET', path)).status).toBe(200);
    const lists = [...db.asked.keys()].filter((sql) => !NAMED.test(sql));
    expect(lists.length).toBeGreaterThan(0);
    expect(lists.flatMap((sql) => (isPaged(db, sql) ? [] : [[sql, db.planOf(sql)]]))).toEqual([]);
  });

  it('of intents or claims has the newest first, and the number of all', async () => {
    const { ask, store } = await filled();
    const intents = Array.from({ length: 5 }, (_, index) =>
      intent({
        id: `more${index}`,
        target: `T-${index}`,
        createdAt: index,
        status: 'settled',
        outcome: 'failed',
        basis: [],
      }),
    );
    await addRun(store, { id: 'run2', mode: 'enforce', intents });
    expect(await bodyOf<object>(ask('GET', '/api/intents?status=settled&outcome=failed&limit=2'))).toMatchObject({
      intents: [{ id: 'more4' }, { id: 'more3' }],
      total: 5,
    });
    expect(await bodyOf<object>(ask('GET', '/api/intents?limit=1'))).toMatchObject({
      intents: [{ id: 'intent1' }],
      total: 6,
    });
    expect(await bodyOf<object>(ask('GET', '/api/claims?limit=1'))).toEqual({ claims: [], total: 0, next: null });
  });
});
