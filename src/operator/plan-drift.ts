// operator: how far the targets of a plan have drifted since it was sealed, by the checks of applying and of preflight. In: a plan and
// some of its targets. Out: what changed, and why applying would refuse each now. It reads single records; it changes and calls nothing.
import { type ActContext, noSuchAction } from '../act/context.ts';
import { openIntent } from '../act/gate.ts';
import { targetFacts } from '../act/target-facts.ts';
import { changesSince } from '../decide/checks/changed-since.ts';
import { DRIFT_TARGETS_MAX, type Drift } from '../domain/drift.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Plan, PlannedIntent } from '../domain/plan.ts';
import type { TargetReads } from '../domain/ports.ts';
import type { Engine } from '../run/engine.ts';
import { exemptionOf } from '../run/exemption-of.ts';
import { boundedLookups } from '../run/single-reads.ts';
import { planContext } from './plan-context.ts';
import { type FactsOfPlanned, planFacts } from './plan-facts.ts';

const READS_MAX = 8;
const WITHIN_MS = 10_000;

export type ReadDrift = (planId: string, targets: readonly string[]) => Promise<Drift[]>;

/**
 * Its reads share their places: a target that is late keeps its place until its read ends. Errors: AppError `not_found`; `usage` for
 * too many targets, or one that the plan does not have; those of reading the store.
 */
export function driftReader(engine: Engine): ReadDrift {
  const places = new Places(READS_MAX);
  return async (planId, targets) => {
    const { store, clock } = engine;
    const plan = await store.plan(planId);
    if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\``);
    const chosen = chosenOf(plan, targets);
    const look = await lookOf(engine, plan, chosen);
    const ended = new AbortController();
    let isLate = false;
    const late = clock.sleep(WITHIN_MS, ended.signal).then(
      () => {
        isLate = true;
      },
      () => {},
    );
    const read = (planned: PlannedIntent) => places.hold(async () => (isLate ? lateOf(planned) : look(planned)));
    try {
      return await Promise.all(
        chosen.map((planned) => Promise.race([read(planned), late.then(() => lateOf(planned))])),
      );
    } finally {
      ended.abort();
    }
  };
}

/** In the order of the plan. */
function chosenOf(plan: Plan, targets: readonly string[]): PlannedIntent[] {
  if (targets.length > DRIFT_TARGETS_MAX) {
    const what = `${targets.length} targets are too many`;
    throw new AppError('usage', `${what}: ask for at most ${DRIFT_TARGETS_MAX} at once`);
  }
  const known = new Set(plan.intents.map(({ target }) => target));
  const unknown = targets.find((target) => !known.has(target));
  if (unknown !== undefined) throw new AppError('usage', `plan ${plan.id} has no target \`${unknown}\``);
  return plan.intents.filter(({ target }) => targets.includes(target));
}

async function lookOf(
  engine: Engine,
  plan: Plan,
  chosen: readonly PlannedIntent[],
): Promise<(planned: PlannedIntent) => Promise<Drift>> {
  const api: TargetReads = { ...boundedLookups(engine.api), listBundles: () => engine.api.listBundles() };
  const context: ActContext = {
    ...(await planContext(engine, plan)),
    exemptionOf: (intent, records) => exemptionOf({ ...engine, api }, intent, records),
  };
  const factsOf = await planFacts(engine, chosen, context);
  return async (planned) => {
    try {
      return await driftOf(context, api, plan, planned, factsOf);
    } catch (error) {
      if (!(error instanceof AppError)) engine.log.error({ plan: plan.id, target: planned.target }, lineOf(error));
      return unreadOf(planned, error instanceof AppError ? error.message : 'it could not be read: see the log');
    }
  };
}

/** Errors: those of reading the API and the store. */
async function driftOf(
  context: ActContext,
  api: TargetReads,
  plan: Plan,
  planned: PlannedIntent,
  factsOf: FactsOfPlanned,
): Promise<Drift> {
  const action = context.actions.get(planned.action);
  if (!action) return unreadOf(planned, noSuchAction(planned));
  // INVARIANT: an intent of a dry run is never carried out.
  const { ids, clock, ask } = context;
  const opening = { id: ids.next(), runId: plan.runId, planId: plan.id, approved: true, nowMs: clock.nowMs() };
  const intent = openIntent(planned, 'dry-run', opening);
  const facts = await targetFacts(context, intent, await action.readBack(api, intent.target, intent.settings));
  // Applying a release asks each target's claims instead.
  const begun = planned.released ? undefined : ask('applying', factsOf(planned));
  const refused = begun ?? ask('preflight', facts);
  return {
    ...headOf(planned),
    ...changesSince(facts),
    refused: refused && { check: refused.check, reason: refused.reason, reasonText: refused.reasonText },
    unread: undefined,
  };
}

function headOf({ key, action, target }: PlannedIntent): Pick<Drift, 'key' | 'action' | 'target'> {
  return { key, action, target };
}

function unreadOf(planned: PlannedIntent, unread: string): Drift {
  return { ...headOf(planned), changed: [], gone: [], refused: undefined, unread };
}

function lateOf(planned: PlannedIntent): Drift {
  return unreadOf(planned, `it was not read within ${WITHIN_MS / 1_000} s: ask again`);
}

/** Work in the order of asking, so much of it at once. */
class Places {
  private readonly waiting: (() => void)[] = [];
  constructor(private free: number) {}

  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
