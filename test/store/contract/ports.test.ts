// test: each method of the ports does the same on each database: the same answers, the same errors, and the same to be read after it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import type { Sealing } from '../../../src/store/audit-log.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { CALLS, outcomeOf } from '../../support/ports-script.ts';
import { databases, type OpenedStore } from '../../support/stores.ts';

/** A key that anybody can guess: what is signed is the same on each database. */
const sealing: Sealing = {
  seal: (line, { size, head, at, tables }) =>
    ({ size, head, at, tables, prev: line ?? '', key: 'k', signature: 's' }) as never,
  sign: (prev, seq, bytes) => linkEntry(prev, seq, bytes).slice(0, 16),
  judgeEnd: () => undefined,
  sealed: () => {},
};

const tested = databases().filter(({ isMissing }) => !isMissing);

/** All that can be read is compared after each third call, and after the last one: it takes a second. */
const isReadAfter = (name: string) => {
  const at = CALLS.findIndex(([one]) => one === name);
  return at % 3 === 0 || at === CALLS.length - 1;
};

describe('the ports of the store', () => {
  let stores: OpenedStore[];
  beforeAll(async () => {
    for (const database of tested) await database.prepare();
    stores = await Promise.all(tested.map((database) => database.open(sealing)));
  }, 180_000);
  afterAll(async () => {
    for (const { close } of stores) await close();
    for (const database of tested) await database.end();
  });

  test.skipIf(tested.length < 2).each(CALLS)('are one: %s', async (name, call) => {
    const [first, ...others] = await Promise.all(stores.map(({ store, clock }) => outcomeOf(() => call(store, clock))));
    for (const other of others) expect(other).toEqual(first);
    if (!isReadAfter(name)) return;
    const [read, ...same] = await Promise.all(stores.map(({ store, clock }) => everythingRead(store, clock.nowMs())));
    for (const other of same) expect(other).toEqual(read);
    for (const { store } of stores) expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
  });

  test.skipIf(tested.length < 2)('name every method that writes', () => {
    const named = new Set(CALLS.map(([name]) => name.split(' ')[0]?.replace(':', '')));
    const written = [
      'bind',
      'beginRun',
      'finishRun',
      'abortStaleRuns',
      'commitRun',
      'saveIdentities',
      'removeOldRuns',
      'dropPlanIntents',
      'expirePlans',
      'changePlan',
      'replacePlans',
      'observeEvents',
      'appendAudit',
      'keepClockAgreement',
      'keepPrintKey',
      'sealAudit',
      'nameDatabase',
      'acceptRestore',
      'acceptTables',
      'removeArchived',
      'saveExemption',
      'setStop',
      'saveAcceptance',
      'release',
      'markSent',
      'settle',
      'withdraw',
      'reopen',
      'resolve',
      'outbox',
      'tokens',
      'answers',
      'feedPositions',
    ];
    expect(written.filter((name) => !named.has(name))).toEqual([]);
  });
});
