// operate: how far the targets of a plan have drifted since it was sealed, by the checks of applying and of preflight. In: a plan and
// some of its targets. Out: what changed, and why applying would refuse each now. It reads single records; it changes and calls nothing.

import { APPROVALS, neededText } from '../../domain/approvals.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { WindowNow } from '../../domain/change-window.ts';
import { type BasisFacts, DRIFT_TARGETS_MAX, type Drift, type Other, type TargetFacts } from '../../domain/check.ts';
import { intentKey } from '../../domain/digest.ts';
import type { Episode } from '../../domain/episode.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { ownTexts } from '../../domain/facts.ts';
import type { Intent, IntentBasis } from '../../domain/intent.ts';
import { addressesOf, firstNotice, noticeStateOf } from '../../domain/notice.ts';
import { type Operator, saidText } from '../../domain/operator.ts';
import { differenceFrom, episodesOf, type Plan, type PlannedIntent, successorText } from '../../domain/plan.ts';
import type { TargetReads } from '../../domain/ports.ts';
import { countsEvents, isOnTrial, type Rule, rulesById } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import type { PlanStore } from '../../domain/store-ports.ts';
import { SOURCES, type Source } from '../../domain/subjects.ts';
import { type ActContext, noSuchAction, readTarget, targetFacts } from '../act/context.ts';
import { openIntent } from '../act/gate.ts';
import { demandAudited } from '../approve/plans.ts';
import { changesSince } from '../decide/checks/rules.ts';
import { EarlierAnswers, isStillToBeDone, wordKey } from '../decide/earlier-answers.ts';
import { type Approving, approvalsOf } from '../run/approvers.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import {
  boundedLookups,
  exemptionOf,
  type Freezing,
  freezeNow,
  lastReading,
  readEach,
  recentRuns,
} from '../run/pulled-snapshot.ts';
import { filled } from './commands.ts';

// A person lets one plan through the change windows, alone where more people are asked. In: the plan, who and why. Out: the plan with that, and its
// audit entry, for the transaction of the caller. INVARIANT: it lifts change windows and approvals only: every other check is asked as before.

interface BrokenGlass {
  plan: Plan;
  note: AuditNote;
}

/** Errors: AppError `usage` without a reason, and where nothing is there that it would lift. */
export function breakGlass(engine: Freezing & Pick<Approving, 'active'>, plan: Plan, who: Operator): BrokenGlass {
  if ((engine.settings.freeze ?? []).length === 0 && !approvalsOf(engine)) {
    const nothing = `no change window is configured (TRUSTWARD_FREEZE), and no ${APPROVALS} asks more people`;
    throw new AppError('usage', `${nothing}: answer the plan without break glass`);
  }
  const { by, reason = '', touch } = who;
  const said = { ...who, reason: filled(reason, 'reason', 'say why the plan may not wait, for the audit') };
  const window = freezeNow(engine)?.text;
  const needed = neededText(plan, engine.active().rules);
  return {
    plan: {
      ...plan,
      breakGlass: {
        ...{ at: engine.clock.nowMs(), by, reason: saidText(said) ?? '' },
        ...(touch && { touched: true }),
      },
    },
    note: { kind: 'plan.glass_broken', body: { plan: plan.id, digest: plan.digest, ...said, window, needed } },
  };
}

/**
 * The change window that holds the plan; undefined for one that a person let through. Errors: AppError `conflict` when the audit does not
 * have who let it through.
 */
export async function freezeOf(
  engine: Freezing & { store: Pick<PlanStore, 'auditedDigest'> },
  plan: Plan,
): Promise<() => WindowNow | undefined> {
  if (plan.breakGlass === undefined) return () => freezeNow(engine);
  demandAudited(plan, 'plan.glass_broken', await engine.store.auditedDigest('plan.glass_broken', plan.id));
  return () => undefined;
}

/** Whether a change window holds all of the plan: an undo and a notification are not held. */
export function isHeldWhole(
  { actions }: Pick<Engine, 'actions'>,
  { intents }: Pick<Plan, 'intents'>,
  freeze: WindowNow | undefined,
): boolean {
  return freeze !== undefined && intents.every(({ action, undo }) => !undo && actions.get(action)?.changesFleet);
}

/** Errors: AppError `not_found` when the plan's run is not in this database. */
export async function planContext(engine: Engine, plan: Plan): Promise<ActContext> {
  const run = await engine.store.run(plan.runId);
  if (!run) throw new AppError('not_found', `the run of plan ${plan.id} is not in this database`);
  const context = await actContext(engine, run, await rulesOfRun(engine, { rules: undefined }), engine.daemonMode);
  return { ...context, freezeNow: await freezeOf(engine, plan) };
}

// The facts that checks get about an approved plan's intents before they begin: the stored state, the last runs'
// answers and readings.

type Asking = Pick<Engine, 'api' | 'store' | 'clock' | 'steady' | 'actions' | 'active' | 'daemonMode' | 'settings'>;

export type FactsOfPlanned = (planned: PlannedIntent) => TargetFacts;

/** Includes closed episodes: a window rule's plan outlives its match, and must not be carried out twice. */
export async function planFacts(
  engine: Asking,
  all: readonly PlannedIntent[],
  { freezeNow }: Pick<ActContext, 'freezeNow'>,
): Promise<FactsOfPlanned> {
  const { store, clock, steady, actions } = engine;
  const openState = await store.openState(clock.nowMs());
  const liveFor = episodesOf({ intents: [...all] });
  const live = (await store.intents({ liveFor })).flatMap((intent) =>
    intent.basis.map(({ episodeId }): [string, Intent] => [liveKey(intent, episodeId), intent]),
  );
  const stored: StoredForPlan = {
    rules: new Map(engine.active().rules.map((rule) => [rule.id, rule])),
    episodes: new Map((await store.episodes(liveFor)).map((episode) => [episode.id, episode])),
    live: new Map(live),
    rejected: openState.rejected,
    said: new Map(openState.decisions.map((one) => [wordKey(one.rule, one.subject.id, one), one])),
    untrusted: await untrustedSources(engine),
    notices: openState.notices ?? new Map(),
    at: { nowMs: clock.nowMs(), steady: steady.read(), hasNoMailer: engine.settings.decide.hasNoMailer },
  };
  const firstOf = firstIn(engine, openState);
  const read = await readEach(all, async (one) => [one, await ownersNow(engine, one, stored)] as const);
  const owners = new Map(read);
  return (planned) => {
    const traits = actions.get(planned.action) as TargetFacts['traits'];
    return {
      traits,
      target: planned.target,
      undo: planned.undo,
      nowMs: clock.nowMs(),
      effect: planned.effect,
      approved: true,
      // The limit of the rules' modes; the gate applies the daemon's mode.
      mode: 'enforce',
      basis: planned.basis.map((basis) => basisOf(planned, basis, traits, stored, owners.get(planned))),
      stop: openState.stop,
      freeze: freezeNow(),
      first: firstOf(planned),
    };
  };
}

interface StoredForPlan {
  rules: ReadonlyMap<string, Rule>;
  episodes: ReadonlyMap<string, Episode>;
  /** Live intents by `action target episode`. */
  live: ReadonlyMap<string, Intent>;
  rejected: OpenState['rejected'];
  /** Decisions in force, by rule, subject, action and target. */
  said: ReadonlyMap<string, NonNullable<BasisFacts['said']>>;
  /** By source: why it was not trusted when it was last read. */
  untrusted: ReadonlyMap<Source, string>;
  notices: NonNullable<OpenState['notices']>;
  at: Parameters<typeof noticeStateOf>[2];
}

/** Whom no run has begun to warn may own it no longer, and is then never warned: it is read again. Undefined: as it was sealed. */
async function ownersNow(
  { api, actions }: Pick<Asking, 'api' | 'actions'>,
  { action, basis, effect }: PlannedIntent,
  { rules, notices }: Pick<StoredForPlan, 'rules' | 'notices'>,
): Promise<string[] | undefined> {
  const sealed = addressesOf(effect.devices.flatMap((one) => one.owners ?? []));
  const isUnwarned = basis.some(({ rule, episodeId }) => {
    const { notice, subject } = rules.get(rule) ?? {};
    const begun = notices.get(episodeId) ?? [];
    return notice && subject !== 'user' && sealed.some((one) => !firstNotice(begun, notice.print, one));
  });
  const serial = effect.devices[0]?.serial;
  if (!isUnwarned || !serial || !actions.get(action)?.takesDevice) return undefined;
  const read = (await api.devicesOfSerial(serial).catch(() => [])).map((record) => ownTexts(record, 'Emails'));
  return read.length === 0 || read.includes(undefined) ? undefined : read.flatMap((emails) => emails ?? []);
}

function basisOf(
  planned: PlannedIntent,
  { rule, ruleHash, subjectId, episodeId }: IntentBasis,
  { inverse, takesDevice }: TargetFacts['traits'],
  { rules, episodes, live, rejected, said, untrusted, notices, at }: StoredForPlan,
  ownersNow: string[] | undefined,
): BasisFacts {
  const { action, target } = planned;
  const ruleNow = rules.get(rule);
  const episode = episodes.get(episodeId);
  const liveOf = (name: typeof inverse) =>
    name === undefined ? undefined : live.get(liveKey({ action: name, target }, episodeId));
  // A window moves on by itself, so its approved content still counts. This allows no second attempt on an episode that is over, and
  // nothing on a subject that was gone meanwhile.
  const isSlidOn =
    ruleNow && countsEvents(ruleNow) && episode?.closeReason === 'cleared' && !liveOf(action) && !liveOf(inverse);
  const { devices } = planned.effect;
  const sealed = devices.some(({ owners }) => owners === undefined)
    ? undefined
    : devices.flatMap((one) => one.owners ?? []);
  const owners = ownersNow ?? sealed;
  const warned = { owners: ruleNow?.subject === 'user' ? [subjectId] : owners, notices: notices.get(episodeId) ?? [] };
  return {
    rule,
    ruleHash,
    subjectId,
    episodeId,
    ruleNow,
    notice: takesDevice && ruleNow?.notice && noticeStateOf(ruleNow.notice, warned, at),
    untrusted: ruleNow?.sources.flatMap((source) => untrusted.get(source) ?? [])[0],
    isOver: (episode?.state ?? 'closed') === 'closed' && !isSlidOn,
    overriddenAt: episode?.overriddenAt,
    isReleased: liveOf(inverse)?.released === true,
    isRejected: rejected.has(intentKey({ action, target, basis: [{ episodeId }] })),
    earlier: liveOf(action),
    said: said.get(wordKey(rule, subjectId, planned)),
  };
}

/** The actions that go before a deletion, even if no run has judged both together since the plan was made. */
function firstIn(
  { actions, active, daemonMode }: Pick<Asking, 'actions' | 'active' | 'daemonMode'>,
  openState: OpenState,
): (planned: PlannedIntent) => Other | undefined {
  const activeRules = rulesById(active().rules);
  const modes = { runMode: daemonMode, daemonMode };
  const earlier = new EarlierAnswers({ judged: [], activeRules, traits: actions, openState, ...modes });
  return (planned) => {
    if (!actions.get(planned.action)?.removesTarget) return undefined;
    const first = earlier
      .on(planned)
      .find((other) => !other.traits.removesTarget && !isOnTrial(other.ownMode) && isStillToBeDone(other));
    return first && { rule: first.rule.id, action: first.traits.name };
  };
}

/** Taken from the readings, not from the decisions: a run over untrusted data writes only examples of those. */
async function untrustedSources({ store }: Pick<Engine, 'store'>): Promise<ReadonlyMap<Source, string>> {
  const runs = await recentRuns(store);
  return new Map(
    SOURCES.flatMap((source): [Source, string][] => {
      const reading = lastReading(runs, source)?.reading;
      if (reading?.state !== 'read' || reading.trusted) return [];
      return [[source, `${reading.reasons.map(({ text }) => text).join('; ')} (as last read)`]];
    }),
  );
}

function liveKey({ action, target }: Pick<PlannedIntent, 'action' | 'target'>, episodeId: string): string {
  return `${action} ${target} ${episodeId}`;
}

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
    // The plan says whose yes it waits for; here is asked how its targets are.
    missingYesOf: () => undefined,
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
  const facts = await targetFacts(context, intent, await readTarget({ ...context, api }, action, intent));
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

/** Plans whose end has come are recorded as expired first. Errors: AppError `not_found`, `usage` for an ambiguous prefix. */
export async function foundPlan(store: Pick<PlanStore, 'plan' | 'expirePlans'>, planId: string): Promise<Plan> {
  await store.expirePlans();
  const plan = await store.plan(planId);
  if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\``);
  return plan;
}

/** Errors: AppError `conflict` that names the plans in its place, and how they differ. */
export async function demandInPlace(store: Pick<PlanStore, 'plan'>, plan: Plan): Promise<void> {
  const { id, status, supersededBy } = plan;
  if (status !== 'superseded' || !supersededBy) return;
  const text = successorText(supersededBy, await differenceFrom(store, plan));
  throw new AppError('conflict', `plan ${id} is superseded by ${text}`);
}
