// harness: judges a life with a rollout: nothing is called for who is not among the share of its step, nothing while it is stopped, and nothing stops it
// but what people did. In: a request, its intent; commits. Out: violations. It also plants the bugs that it finds.
import { placeAmong } from '../../src/domain/digest.ts';
import type { Intent } from '../../src/domain/intent.ts';
import { ALL, type Rollout } from '../../src/domain/rollout.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { Checker } from './checker.ts';
import { replaced } from './planted-bugs.ts';
import type { PlatformRequest } from './platform.ts';
import type { Profile } from './profile.ts';

const ROLLED = 'ban-first';

export type RolloutBug = 'share_is_ignored' | 'own_undo_is_counted';

/** Half of the subjects for an hour, then all; the first reversal stops it. */
export const HALF_FIRST: Rollout = {
  steps: [ALL / 2, ALL],
  eachMs: 3_600_000,
  brake: { reversed: 1, exempted: 2 },
  meaning: 'of the simulation',
};

/** The rules of a life, of which the first one has the rollout while that lasts. */
export function withRollout(
  rules: readonly LoadedRule[],
  { rollout, rolloutBug }: Pick<Profile, 'rollout' | 'rolloutBug'>,
): readonly LoadedRule[] {
  if (!rollout || rolloutBug === 'share_is_ignored') return rules;
  return rules.map((rule) => (rule.id === ROLLED ? { ...rule, rollout } : rule));
}

/** A plan's undo looks like a person's release of one target. */
export function countingOwnUndo(store: EngineStore, { rolloutBug }: Pick<Profile, 'rolloutBug'>): EngineStore {
  if (rolloutBug !== 'own_undo_is_counted') return store;
  return replaced(store, {
    openState: async (nowMs) => {
      const open = await store.openState(nowMs);
      return { ...open, intents: open.intents.map((one) => (one.released ? { ...one, planId: undefined } : one)) };
    },
  });
}

interface Row {
  step: number;
  braked_at: number | null;
  reversed: string;
}

export class Rollouts {
  private brakes = 0;

  constructor(private readonly checker: Checker) {}

  private get row(): Row | undefined {
    return this.checker.ledger.db.get<Row & Record<string, never>>('SELECT * FROM rollouts WHERE rule = ?', ROLLED);
  }

  onRequest({ target }: PlatformRequest, intent: Intent): void {
    const { rollout } = this.checker.profile;
    if (!rollout || intent.undo || intent.basis.some(({ rule }) => rule !== ROLLED)) return;
    const { row } = this;
    const share = rollout.steps[row?.step ?? 0] as number;
    const what = `${intent.action} ${target}`;
    if (intent.basis.every(({ subjectId }) => placeAmong(ALL, ROLLED, subjectId) >= share))
      this.checker.report('outside_share', `${what}: none of its matches is among the share of ${share}`);
    if (typeof row?.braked_at === 'number')
      this.checker.report('outside_share', `${what}: its rollout was stopped at ${row.braked_at}`);
  }

  onCommit(): void {
    if (!this.checker.profile.rollout) return;
    const { row } = this;
    if (typeof row?.braked_at !== 'number') return;
    this.brakes += 1;
    const sql = `SELECT intents.target FROM intents JOIN intent_episodes ON intent_id = intents.id JOIN episodes ON episodes.id = episode_id
      WHERE released = 1 AND plan_id IS NOT NULL AND episodes.id = ? AND intents.created_at <= overridden_at`;
    for (const id of JSON.parse(row.reversed) as string[]) {
      const own = this.checker.ledger.db.get<{ target: string }>(sql, id);
      if (own) this.checker.report('false_brake', `${own.target}: undone by a plan, and counted as reversed`);
    }
  }

  /** Commits while it was stopped. */
  get stopped(): number {
    return this.brakes;
  }
}
