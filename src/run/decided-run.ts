// run: what a run decided, as it is committed: decisions, the sealed plan, the intents that it opens. In: the input of deciding, the plans
// beside which it seals its own. Out: all of it, nothing stored. It never asks whether a run is dry: only act/gate does.
import { openIntent } from '../act/gate.ts';
import { type Sealed, type SealInput, sealing } from '../approve/plans.ts';
import { deciding } from '../decide/decide.ts';
import type { Decided, DecideInput } from '../decide/input.ts';
import { drainedInTurns, giveWay } from '../domain/give-way.ts';
import type { Intent } from '../domain/intent.ts';
import { leastMode } from '../domain/mode.ts';
import type { Engine } from './engine.ts';
import type { NewRun } from './run-life.ts';

export interface DecidedRun {
  decided: Decided;
  sealed: Sealed;
  /** New ones. */
  intents: Intent[];
}

type PlansBeside = Pick<SealInput, 'isWhole' | 'pending' | 'approved'>;

export async function decideRun(
  { ids, settings }: Pick<Engine, 'ids' | 'settings'>,
  run: Pick<NewRun, 'id' | 'mode' | 'daemonMode' | 'startedAt'>,
  input: DecideInput,
  plansBeside: () => Promise<PlansBeside>,
): Promise<DecidedRun> {
  // Deciding, sealing and committing take long for thousands of targets: a stop is answered between them.
  await giveWay();
  const decided = await drainedInTurns(deciding(input));
  const plans = sealing({
    id: ids.next(),
    runId: run.id,
    mode: leastMode(run.mode, run.daemonMode),
    nowMs: run.startedAt,
    ttlMs: settings.planTtlMs,
    planned: decided.planned,
    ...(await plansBeside()),
  });
  const sealed = await drainedInTurns(plans);
  const intents = decided.acts
    .filter((act) => !act.isUnchanged && act.retryOf === undefined)
    .map((act) => openIntent(act.draft, act.mode, { id: ids.next(), runId: run.id, nowMs: run.startedAt }));
  await giveWay();
  return { decided, sealed, intents };
}

const PLANS_MAX = 100;

/** A run over all active rules supersedes the pending plans. */
export async function plansReplaced({ store }: Pick<Engine, 'store'>, isWhole: boolean): Promise<PlansBeside> {
  const pending = await store.plans({ status: 'pending' }, PLANS_MAX);
  return { isWhole, pending, approved: await store.plans({ status: 'approved' }, PLANS_MAX) };
}

/** A look supersedes none, and seals only what is in none of them. */
export async function plansKept({ store }: Pick<Engine, 'store'>): Promise<PlansBeside> {
  const { pending, approved } = await plansReplaced({ store }, false);
  return { isWhole: false, pending: [], approved: [...pending, ...approved] };
}

/** Whether a look has anything to record. */
export function isAnything({ decided, sealed, intents }: DecidedRun): boolean {
  const { episodes, claims, decisions, ended, acts, notes } = decided;
  const changes = [episodes, claims, decisions, ended, notes, intents];
  return sealed.plan !== undefined || changes.some(({ length }) => length > 0) || acts.some(({ retryOf }) => retryOf);
}
