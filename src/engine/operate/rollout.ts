// operate: rollouts that what people did has stopped: the undo of what the rule did is planned, once, and waits for a person's yes; a person goes
// on or begins anew. In: states of rollouts, a rule, who and why. Out: the plan, the state in force now. Nothing is called from here.

import { AppError } from '../../domain/errors.ts';
import type { Operator } from '../../domain/operator.ts';
import { brakedText, type RolloutState, stateOfRollout } from '../../domain/rollout.ts';
import { isLive, leastMode, type Rule } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import { demandOwner } from '../run/approvers.ts';
import type { Engine } from '../run/engine.ts';
import { checked } from './commands.ts';
import { planUndos } from './release.ts';

/** After the commit of a live run: `before` and `changed` by it. A process that ends in between leaves it to the next run. */
export async function planBraked(
  engine: Engine,
  run: Pick<Run, 'mode' | 'daemonMode'>,
  before: readonly RolloutState[] = [],
  changed: readonly RolloutState[] = [],
): Promise<void> {
  if (!isLive(leastMode(run.mode, run.daemonMode))) return;
  const rules = new Map(engine.active().rules.map((rule) => [rule.id, rule]));
  const states = new Map([...before, ...changed].map((state) => [state.rule, state]));
  for (const [rule, state] of states) {
    if (!state.braked) continue;
    if (rules.get(rule)?.rollout?.meaning !== state.meaning) {
      const text = `the rule is missing or off, or is another one: what stopped it counts no more`;
      await engine.store.setRollout(rule, undefined, [{ kind: 'rollout.restarted', body: { rule, text } }]);
      continue;
    }
    if (state.isPlanned) continue;
    const made = await plannedUndo(engine, state);
    const body = { rule, plan: made.plan, text: made.text };
    await engine.store.setRollout(rule, { ...state, isPlanned: true }, [{ kind: 'rollout.planned', body }]);
    engine.log.warn({ rule }, `rule ${rule} acts no more: its rollout was ${brakedText(state)}; ${made.text}`);
  }
}

async function plannedUndo(
  engine: Engine,
  { rule, braked }: RolloutState,
): Promise<{ plan: string | undefined; text: string }> {
  try {
    const { plan } = await planUndos(engine, rule, { by: 'trustward', reason: `the brake: ${braked?.why}` });
    return { plan: plan.id, text: `the undo of what it did is planned, and waits for a yes` };
  } catch (error) {
    const code = error instanceof AppError ? error.code : undefined;
    if (code === 'not_found') return { plan: undefined, text: 'nothing that it did is in force any more' };
    if (code === 'conflict')
      return { plan: undefined, text: 'other rules hold all that it did, or it is approved to be undone' };
    throw error;
  }
}

export interface SteeredRollout {
  rule: Rule;
  /** Undefined: it begins with the next run. */
  state: RolloutState | undefined;
}

/** The rule goes on at its step; what people did until now counts no more. Errors: AppError `not_found`, `usage`, `conflict` when nothing stopped it. */
export async function resumeRollout(engine: Engine, id: string, operator: Operator): Promise<SteeredRollout> {
  const { rule, state, who } = await steered(engine, id, operator);
  if (!state?.braked) throw new AppError('conflict', `the rollout of rule \`${id}\` is not stopped`);
  const { braked, isPlanned: _, ...kept } = state;
  const resumed = { ...kept, since: engine.clock.nowMs(), reversed: [], exempted: [] };
  const body = { rule: id, ...who, why: braked.why };
  await engine.store.setRollout(id, resumed, [{ kind: 'rollout.resumed', body }]);
  return { rule, state: resumed };
}

/** The next live run begins with the first step. Errors: AppError `not_found`, `usage`. */
export async function restartRollout(engine: Engine, id: string, operator: Operator): Promise<SteeredRollout> {
  const { rule, who } = await steered(engine, id, operator);
  await engine.store.setRollout(id, undefined, [{ kind: 'rollout.restarted', body: { rule: id, ...who } }]);
  return { rule, state: undefined };
}

async function steered(engine: Engine, id: string, operator: Operator) {
  const { groups, ...who } = checked(operator);
  const rule = engine.active().rules.find((one) => one.id === id);
  if (!rule) throw new AppError('not_found', `there is no active rule \`${id}\`: \`trustward rules list\` shows them`);
  if (!rule.rollout) throw new AppError('usage', `rule \`${id}\` has no \`rollout\`: it acts on all that it matches`);
  demandOwner(engine, { by: who.by, groups }, `the rollout of rule \`${id}\` stays as it is`, [id]);
  return { rule, who, state: stateOfRollout(rule, await engine.store.rollouts()) };
}
