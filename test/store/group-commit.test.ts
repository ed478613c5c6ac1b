// test: several transitions of intents in one transaction: each is there or not, with its own error, and the audit is one chain.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { drained } from '../../src/base/turns.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { GroupCommit } from '../../src/store/sqlite/sqlite-store.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';

let on: OnPlatform;
beforeEach(async () => {
  on = startOnPlatform({ rules: [banRule()] });
  for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  const { markSent } = on.store;
  on.store.markSent = () => Promise.reject(new Error('not yet'));
  await on.run().catch(() => {});
  on.store.markSent = markSent;
});
afterEach(() => on.close());

const sent = (intentId: string) => ({
  intentId,
  run: undefined,
  notes: [{ kind: 'intent.sent' as const, body: { intent: intentId } }],
});
const ids = async () => (await on.store.intents({})).map(({ id }) => id);
const states = async () => (await on.store.intents({})).map(({ status }) => status);

it('transitions that are due at once are one transaction, and one chain in their order', async () => {
  const all = await ids();
  const before = (await on.store.audit({ limit: 100 })).length;
  await Promise.all(all.map((id) => on.store.markSent(sent(id))));
  expect(await states()).toEqual(['sent', 'sent', 'sent']);
  const entries = (await on.store.audit({ limit: 100 })).slice(0, 3);
  expect(await on.store.audit({ limit: 100 })).toHaveLength(before + 3);
  expect(entries.map(({ bytes }) => JSON.parse(bytes).body.intent)).toEqual(all.toReversed());
  // The digests of the tables are in the last entry of a transaction: here in one of three.
  expect(entries.filter(({ bytes }) => bytes.includes('"digests"'))).toHaveLength(1);
  expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  expect(await on.store.tableDifferences()).toEqual([]);
});

it('one that cannot be made leaves the others: each has its own answer', async () => {
  const [first, second, third] = (await ids()) as [string, string, string];
  const answers = await Promise.allSettled(
    [first, 'no-such', second, first, third].map((id) => on.store.markSent(sent(id))),
  );
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(answers.flatMap((answer) => (answer.status === 'rejected' ? answer.reason.code : []))).toEqual([
    'not_found',
    'conflict',
  ]);
  expect(await states()).toEqual(['sent', 'sent', 'sent']);
  expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  expect(await on.store.tableDifferences()).toEqual([]);
});

it('a group that the disk refuses fails for each of its units, and none is left behind', async () => {
  const commits: number[] = [];
  const group = new GroupCommit((units) => {
    commits.push(units.length);
    throw new Error('the disk is full');
  });
  const answers = await Promise.allSettled([group.add(function* () {}, 'soon'), group.add(function* () {}, 'at_once')]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(commits).toEqual([2, 1, 1]);
});

it('what is asked for at once is committed before anything else happens', async () => {
  const order: string[] = [];
  const group = new GroupCommit((units) => {
    order.push(`commit of ${units.length}`);
    for (const work of units) drained(work());
  });
  setImmediate(() => order.push('the next turn'));
  await Promise.all([group.add(function* () {}, 'soon'), group.add(function* () {}, 'at_once')]);
  await new Promise((turn) => setImmediate(turn));
  expect(order).toEqual(['commit of 2', 'the next turn']);
});
