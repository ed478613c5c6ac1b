// test: an intent changes as the table of transitions says, and in no other way. Every transition is tried from every state, to
// every state that it can lead to: the pairs are made of the table.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  INTENT_TRANSITIONS,
  type Intent,
  type IntentState,
  type IntentTransition,
  mayChange,
  type SettledAs,
  stateOf,
} from '../../src/domain/intent.ts';
import { saveEpisode } from '../../src/store/intent-log.ts';
import { INTENT } from '../../src/store/rows.ts';
import { answered } from '../../src/store/sqlite/database.ts';
import { episode, intent, type OpenStore, openStore } from '../support/stored-nouns.ts';

let open: OpenStore;
beforeEach(() => {
  open = openStore();
});
afterEach(() => open.store.close());

const UNSETTLED = ['planned', 'sent', 'withdrawn'] as const;
const SETTLED: readonly SettledAs[] = ['succeeded', 'failed', 'unknown', 'confirmed', 'parked'];
const STATES: readonly IntentState[] = [...UNSETTLED, ...SETTLED, 'dry_run'];

/** By transition: the states that its caller can name. */
const NAMED: { [transition in IntentTransition]: readonly IntentState[] } = {
  markSent: ['sent'],
  settle: SETTLED,
  withdraw: ['withdrawn', 'failed'],
  reopen: ['planned'],
  resolve: ['confirmed', 'failed', 'unknown'],
};

const notes = [{ kind: 'run.aborted' as const, body: {} }];
const change = { intentId: intent.id, notes, note: 'why' };
const why = { decision: 'skip', reason: 'drifted', reasonText: 'why' } as const;

function perform(transition: IntentTransition, to: IntentState): Promise<void> {
  const { store } = open;
  switch (transition) {
    case 'markSent':
      return store.markSent({ ...change, run: 'r1' });
    case 'settle':
      return store.settle({ ...change, outcome: to as SettledAs });
    case 'withdraw':
      return store.withdraw({ ...change, why });
    case 'reopen':
      return store.reopen({ intents: [intent], notes });
    case 'resolve':
      return store.resolve({ ...change, outcome: to as 'confirmed' | 'failed' | 'unknown' });
  }
}

/** An intent that is withdrawn to `failed` was sent before. */
function stored(state: IntentState, to: IntentState): Intent {
  const unsettled = UNSETTLED.find((status) => status === state);
  const attempts = state === 'planned' && to === 'failed' ? 1 : 0;
  return unsettled
    ? { ...intent, status: unsettled, outcome: undefined, attempts }
    : { ...intent, status: 'settled', outcome: state as Intent['outcome'], attempts, settledAt: 1, note: 'before' };
}

const transitions = Object.keys(INTENT_TRANSITIONS) as IntentTransition[];
const pairs = transitions.flatMap((transition) =>
  NAMED[transition].flatMap((to) => STATES.map((from) => ({ transition, from, to }))),
);

describe('the transition', () => {
  it.each(pairs)('$transition from $from to $to', async ({ transition, from, to }) => {
    const before = stored(from, to);
    answered(open.db, (db) => saveEpisode(db, episode));
    open.db.insert('intents', INTENT.rowOf(before));
    const written = await open.store.audit({ limit: 10 });
    const done = perform(transition, to);
    if (mayChange(transition, from, to)) {
      await done;
      expect(stateOf((await open.store.intent(intent.id)) as Intent)).toBe(to);
      expect(await open.store.audit({ limit: 10 })).toHaveLength(written.length + 1);
    } else {
      await expect(done).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(`is ${from}`) });
      expect(await open.store.intent(intent.id)).toEqual(before);
      expect(await open.store.audit({ limit: 10 })).toEqual(written);
    }
  });

  it('reopen takes over the current basis, settings and effect, and keeps the approval of its own plan', async () => {
    answered(open.db, (db) => saveEpisode(db, episode));
    const before: Intent = { ...intent, approved: false, status: 'settled', outcome: 'failed', attempts: 1 };
    open.db.insert('intents', INTENT.rowOf(before));
    const other = { rule: 'other', ruleHash: 'h2', subjectId: 'd1', episodeId: 'e1', decisionId: 'x2', facts: {} };
    const now = { settings: { depth: 2 }, basis: [other], effect: { text: 'now', devices: [] } };
    await open.store.reopen({ intents: [{ ...before, ...now, approved: true, released: true }], notes });
    const after = { ...before, ...now, released: true, status: 'planned', outcome: undefined, settledAt: undefined };
    expect(await open.store.intent(intent.id)).toEqual(after);
  });

  it('leads to no state that is not tried here', () => {
    for (const transition of transitions) {
      const table: { [from: string]: readonly IntentState[] } = INTENT_TRANSITIONS[transition];
      expect(new Set(Object.values(table).flat())).toEqual(
        new Set(NAMED[transition].filter((to) => STATES.some((from) => mayChange(transition, from, to)))),
      );
      expect(STATES).toEqual(expect.arrayContaining(Object.keys(table)));
    }
  });

  it.each(['succeeded', 'confirmed', 'withdrawn', 'dry_run'] as const)('never leaves %s', (from) => {
    expect(transitions.filter((one) => STATES.some((to) => mayChange(one, from, to)))).toEqual([]);
  });
});
