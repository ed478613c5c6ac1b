// harness: judges a life with a rollout: nothing is called for who is not among the share of its step, nothing while it is stopped or has to be, and
// nothing stops it but what people did. In: a request, its intent; commits. Out: violations.
import { placeAmong } from '../../src/domain/digest.ts';
import type { Intent } from '../../src/domain/intent.ts';
import { ALL, type Rollout } from '../../src/domain/rollout.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';

export const ROLLED = 'ban-first';

export function withRollout(rules: readonly LoadedRule[], rollout: Rollout | undefined): readonly LoadedRule[] {
  return rollout ? rules.map((rule) => (rule.id === ROLLED ? { ...rule, rollout } : rule)) : rules;
}

interface Row {
  step: number;
  began_at: number;
  since: number;
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
    const { operation, profile } = this.checker;
    const { rollout } = profile;
    if (!rollout || intent.undo || intent.basis.some(({ rule }) => rule !== ROLLED)) return;
    const { row } = this;
    const share = rollout.steps[row?.step ?? 0] as number;
    const what = `${intent.action} ${target}`;
    if (intent.basis.every(({ subjectId }) => placeAmong(ALL, ROLLED, subjectId) >= share))
      this.checker.report('outside_share', `${what}: none of its matches is among the share of ${share}`);
    if (typeof row?.braked_at === 'number')
      this.checker.report('outside_share', `${what}: its rollout was stopped at ${row.braked_at}`);
    // Only whole runs count, before they act.
    const reversed = operation?.name === 'run' && row ? this.reversedSince(row) : 0;
    if (reversed >= rollout.brake.reversed)
      this.checker.report('outside_share', `${what}: people reversed ${reversed} of what the rule did`);
  }

  /** Episodes that it acted on, and that people have reversed since, as the database has them. */
  private reversedSince({ began_at: began, since }: Row): number {
    const sql = `SELECT count(DISTINCT episodes.id) AS n FROM episodes JOIN intent_episodes ON episode_id = episodes.id JOIN intents ON intents.id = intent_id
      WHERE episodes.rule = ? AND overridden_at >= ? AND undo = 0 AND live = 1 AND attempts > 0 AND outcome IN ('succeeded', 'confirmed') AND intents.created_at >= ?
        AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.episode_id = episodes.id AND status IN ('standing', 'orphaned'))
        AND NOT EXISTS (SELECT 1 FROM intents AS undos WHERE released = 1 AND plan_id IS NOT NULL AND undos.target = intents.target)`;
    return Number(this.checker.ledger.db.get<{ n: number }>(sql, ROLLED, since, began)?.n);
  }

  /** It goes on by itself to the next step. */
  get isRolling(): boolean {
    const { rollout } = this.checker.profile;
    const { row } = this;
    return rollout !== undefined && typeof row?.braked_at !== 'number' && (row?.step ?? 0) < rollout.steps.length - 1;
  }

  get isBraked(): boolean {
    return this.checker.profile.rollout !== undefined && typeof this.row?.braked_at === 'number';
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
