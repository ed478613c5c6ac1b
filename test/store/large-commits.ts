// test: commits of a run of any size, with rows in every table that a run writes. In: how many of each. Out: a commit, the same each time.
import type { PlannedIntent } from '../../src/domain/plan.ts';
import type { RunCommit } from '../../src/domain/store.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { claim, commitOf, decision, episode, intent, plan, run } from '../support/stored-nouns.ts';

export interface Sizes {
  episodes: number;
  /** Not more than episodes. */
  intents: number;
  decisions: number;
  planned: number;
  notes: number;
}

export const LARGE_SIZES: Sizes = { episodes: 300, intents: 200, decisions: 300, planned: 200, notes: 1_200 };

const made = <T>(count: number, of: (number: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at + 1));

function plannedOf(number: number): PlannedIntent {
  const { action, settings, undo, basis, effect } = intent;
  const target = `S ${number}`;
  return {
    action,
    target,
    settings,
    undo,
    basis,
    effect,
    key: `k${number}`,
    held: true,
    reason: 'limits',
    reasonText: 'max',
  };
}

export function commitOfSizes({ episodes, intents, decisions, planned, notes }: Sizes): RunCommit {
  const based = (number: number) => intent.basis.map((one) => ({ ...one, episodeId: `e${number}` }));
  return commitOf({
    episodes: made(episodes, (number) => ({
      ...episode,
      id: `e${number}`,
      subject: { kind: 'device', id: `d${number}` },
    })),
    intents: made(Math.min(intents, episodes), (number) => ({
      ...intent,
      id: `i${number}`,
      runId: run.id,
      target: `S ${number}`,
      basis: based(number),
    })),
    claims: made(Math.min(intents, episodes), (number) => ({
      ...claim,
      id: `c${number}`,
      episodeId: `e${number}`,
      intentId: `i${number}`,
      target: `S ${number}`,
    })),
    decisions: made(decisions, (number) => ({ ...decision, id: `x${number}`, target: `S ${number}` })),
    endedDecisions: [],
    plan: { ...plan, intents: made(planned, plannedOf) },
    carriedPlans: [],
    supersededPlans: [],
    notes: made(notes, (number) => ({
      kind: 'decision.made',
      body: { decision: `x${number}`, target: `S ${number}` },
    })),
  });
}

export async function begin(store: SqliteStore): Promise<void> {
  await store.beginRun(run, [{ kind: 'run.started', body: { run: run.id } }]);
}

/** Every row of every table. */
export function contentOf(db: SqliteDb): Record<string, unknown[]> {
  const tables = db.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  return Object.fromEntries(tables.map(({ name }) => [name, db.all(`SELECT * FROM ${name}`)]));
}
