// act: the context of acting: the ports, the actions, the checks, the settings, and the facts that checks get before a call.

import { DAY_MS, elapsedMs, type SteadyTime } from '../../base/time.ts';
import {
  type Action,
  type ActionName,
  type ActionTraits,
  attemptsAllowed,
  type CeilingSettings,
  isSameTarget,
  isShownByOthers,
  kindOfTarget,
  type ReadBack,
  stateOfAll,
} from '../../domain/action.ts';
import type { WindowNow } from '../../domain/change-window.ts';
import type { Ask, BasisFacts, ClaimFacts, TargetFacts } from '../../domain/check.ts';
import { placeAmong } from '../../domain/digest.ts';
import { type Claim, type Episode, seenKey } from '../../domain/episode.ts';
import { lineOf } from '../../domain/errors.ts';
import { type Facts, ownTexts } from '../../domain/facts.ts';
import { areOthers } from '../../domain/identity.ts';
import { contradicts, type Intent, type IntentBasis, isDone, isInDoubt } from '../../domain/intent.ts';
import { noticeStateOf } from '../../domain/notice.ts';
import type { Api, Clock, Ids, Log, QuietTime, TargetReads } from '../../domain/ports.ts';
import type { Progress } from '../../domain/replay.ts';
import { ALL, type RolloutState, rolloutFacts, stateOfRollout } from '../../domain/rollout.ts';
import type { Mode, Rule } from '../../domain/rule.ts';
import type { ActStore } from '../../domain/store-ports.ts';
import { flagText, type SubjectKind } from '../../domain/subjects.ts';
import type { VerdictName } from '../../domain/verdict.ts';
import type { Door, RunCounts } from './door.ts';

export interface ActSettings {
  ceilings: CeilingSettings;
  /** Definite failures of one intent before it is parked. */
  attemptsMax: number;
  /** Attempts without a success in one run, failed or doubtful, after which the run stops acting. */
  runFailuresMax: number;
  /** How many targets are acted on at once. */
  concurrency: number;
  /** The time between the two reads that must agree before a retry. */
  rereadMs: number;
  /** A mark of the credential in use. */
  credential?: string | undefined;
  hasNoMailer?: boolean | undefined;
}

export type SubjectCounts = Record<SubjectKind, number>;

/** Judges a fresh record by a rule again; undefined for a rule that this run does not judge. */
type Recheck = (rule: string, record: Facts) => VerdictName | undefined;

export interface ActContext {
  runId: string;
  api: Api;
  store: ActStore;
  clock: Clock;
  steady: SteadyTime;
  /** How long after a doubtful attempt its effect may still appear, or reads may be stale. */
  quiet: QuietTime;
  ids: Ids;
  log: Log;
  actions: ReadonlyMap<ActionName, Action>;
  /** The lower of the run's and the daemon's mode: below `approve`, open intents of earlier runs are not sent again. */
  mode: Mode;
  /** The safety checks; each stage has its list of them. */
  ask: Ask;
  /** The change window in force at this moment; undefined for a plan that a person let through. */
  freezeNow(): WindowNow | undefined;
  /** The current form of a rule; undefined when it is missing or off. */
  ruleNow(rule: string): Rule | undefined;
  /** False for an active rule that this run does not judge: it was not chosen, or one of its sources is unread or untrusted. */
  canJudge(rule: string): boolean;
  recheck: Recheck;
  /** A record as rules see it: no secret is compared, judged or reported. */
  withoutSecrets(record: Facts): Facts;
  /** What protects the target as just read, or what it joined, and which guards ask a person about it; asked of the store each time. Errors: those of reading the API. */
  exemptionOf(intent: Intent, records: readonly Facts[]): Promise<Omit<ExemptionFacts, 'exemptionUnread'>>;
  /** Of an intent of an approved plan: whose yes is missing, by the audit. Read once for a plan. */
  missingYesOf(intent: Intent): Promise<string | undefined> | undefined;
  /** The number of subjects, for the percentages of ceilings. */
  subjects: SubjectCounts;
  settings: ActSettings;
  /** Through it every call goes. Before the first it asks whether the database is as this engine left it (AppError `store_edited`). */
  door: Door;
  /** What this run has attempted so far: mutable, shared by all that acts in it. */
  counts: RunCounts;
  /** Aborted: nothing new is begun. */
  signal: AbortSignal;
  progress?: Progress | undefined;
}

/** A stored intent may name an action of another version: this version does not read its target or call anything for it. */
export function noSuchAction({ action }: Pick<Intent, 'action'>): string {
  return `this version has no action \`${action}\``;
}

/** A read as rules see it. Only the request uses the records themselves, since it may have to send a whole spec back. */
function asRulesSee(context: Pick<ActContext, 'withoutSecrets'>, read: ReadBack): ReadBack {
  const seen = (record: Facts) => context.withoutSecrets(record);
  return { ...read, records: read.records.map(seen), ...(read.beside && { beside: read.beside.map(seen) }) };
}

/**
 * The target as it is now, with the records that its rules judge: those of the subjects that are no part of it are read before it. Errors: those of
 * reading the API.
 */
export async function readTarget(
  context: Pick<ActContext, 'ruleNow'> & { api: TargetReads },
  action: Action,
  { basis, target, settings }: Pick<Intent, 'basis' | 'target' | 'settings'>,
): Promise<ReadBack> {
  const beside: Facts[] = [];
  for (const subjectId of new Set(basis.flatMap((one) => (isBeside(context, action, one) ? [one.subjectId] : [])))) {
    const user = await context.api.user(subjectId);
    if (user) beside.push(user);
  }
  const read = await action.readBack(context.api, target, settings);
  return beside.length === 0 ? read : { ...read, beside };
}

/** Whether the subject that the rule matched is no part of the action's target. Users alone are. */
function isBeside({ ruleNow }: Pick<ActContext, 'ruleNow'>, action: ActionTraits, { rule }: { rule: string }): boolean {
  const subject = ruleNow(rule)?.subject;
  return subject !== undefined && isShownByOthers(action, subject);
}

// The facts that checks get about an intent before a call.

type ExemptionFacts = Pick<
  TargetFacts,
  'exemption' | 'joined' | 'exemptionUnread' | 'guard' | 'lastDevice' | 'devicesOfDay'
>;

/** `exempt`: as `exemptionFacts` read it a moment ago: it may have asked the platform. */
export async function targetFacts(
  context: ActContext,
  intent: Intent,
  read: ReadBack,
  exempt?: ExemptionFacts,
): Promise<TargetFacts> {
  const { actions, clock, settings, counts, signal, store } = context;
  const action = actions.get(intent.action) as Action;
  const fresh = asRulesSee(context, read);
  const missing = context.missingYesOf(intent);
  const missingYes = missing && (await missing);
  return {
    traits: action,
    target: intent.target,
    undo: intent.undo,
    nowMs: clock.nowMs(),
    settings: intent.settings,
    effect: intent.effect,
    approved: intent.approved,
    released: intent.released ?? false,
    isDoubt: isInDoubt(intent),
    doubtRetries: intent.doubtRetries,
    state: fresh.state,
    fresh,
    mode: context.mode,
    failures: { count: counts.failuresAtMost(settings.runFailuresMax), max: settings.runFailuresMax },
    ...(exempt ?? (await exemptionFacts(context, intent, read))),
    ...(await factsInStore(context, action, intent, fresh)),
    missingYes,
    // Read last: a person's command that comes while the rest is read counts.
    stop: await store.stop(),
    freeze: context.freezeNow(),
    isStopping: signal.aborted,
  };
}

export async function exemptionFacts(context: ActContext, intent: Intent, read: ReadBack): Promise<ExemptionFacts> {
  if (intent.undo) return {};
  try {
    const { records, beside = [] } = asRulesSee(context, read);
    return await context.exemptionOf(intent, [...records, ...beside]);
  } catch (error) {
    return { exemptionUnread: lineOf(error) };
  }
}

type FactsInStore = Pick<TargetFacts, 'basis' | 'claims' | 'doubt' | 'justDoneMs' | 'refused' | 'room'>;

/** An action that changes nothing outside has no target that claims, doubts or ceilings could be about. */
async function factsInStore(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
): Promise<FactsInStore> {
  const rollouts = intent.undo ? [] : await rolloutsOf(context, intent);
  if (!action.changesFleet) return { basis: intent.basis.map((basis) => ruleFacts(context, basis, rollouts)) };
  const { store, actions } = context;
  const noticeOf = await noticesWith(context, action, intent, fresh);
  const claims = await store.openClaimsOn(intent.target);
  const ids = [...intent.basis, ...claims].map(({ episodeId }) => episodeId);
  const episodes = new Map((await store.episodesInForce([...new Set(ids)])).map((episode) => [episode.id, episode]));
  const isLost = (claim: Claim) => {
    const traits = actions.get(claim.action);
    if (traits === undefined || leftOfQuietMs(context, claim.openedAt) > 0) return false;
    return (stateOf(context, fresh, traits, claim) ?? traits.valueWritten) !== traits.valueWritten;
  };
  const claimed = claims.map((claim): ClaimFacts => {
    const { rule, action: name, episodeId, status } = claim;
    const isOver = episodes.get(episodeId)?.state === 'closed';
    return { rule, action: name, episodeId, status, isOver, isLost: isLost(claim) };
  });
  const others = (await store.intentsOn(intent.target)).filter(
    (other) => other.id !== intent.id && mayHaveChanged(other, intent, actions),
  );
  return {
    basis: intent.basis.map((basis) => ({
      ...ruleFacts(context, basis, rollouts),
      notice: noticeOf(basis),
      ...recordFacts(context, action, intent, basis, fresh),
      state: stateOf(context, fresh, action, basis),
      ...episodeFacts(intent, basis, episodes.get(basis.episodeId), claimed),
    })),
    claims: claimed,
    doubt: others.find(isInDoubt),
    justDoneMs: await justDoneMs(context, action, intent, fresh),
    refused: action.refuse?.(fresh),
    room: await roomOf(context, action),
  };
}

/** Of rules that warn first: whether those who own it, as just read, were warned and their time is over. */
async function noticesWith(
  context: ActContext,
  action: Action,
  { basis, undo }: Intent,
  fresh: ReadBack,
): Promise<(one: IntentBasis) => BasisFacts['notice']> {
  const warning = undo || !action.takesDevice ? [] : basis.filter(({ rule }) => context.ruleNow(rule)?.notice);
  if (warning.length === 0) return () => undefined;
  const known = await context.store.noticesOf(warning.map(({ episodeId }) => episodeId));
  const read = fresh.records.map((record) => ownTexts(record, 'Emails'));
  const isUnread = fresh.owners === undefined && read.includes(undefined);
  const owners = isUnread ? undefined : [...read.flatMap((own) => own ?? []), ...(fresh.owners ?? [])];
  const { hasNoMailer } = context.settings;
  const at = { nowMs: context.clock.nowMs(), steady: context.steady.read(), hasNoMailer };
  return ({ rule: id, subjectId, episodeId }) => {
    const rule = context.ruleNow(id);
    if (!rule?.notice) return undefined;
    const own = rule.subject === 'user' ? [subjectId] : owners;
    return noticeStateOf(rule.notice, { owners: own, notices: known.get(episodeId) ?? [] }, at);
  };
}

/** What was done last to the target, within the quiet period, and what was read contradicts it. A person who releases it sees what is there. */
async function justDoneMs(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
): Promise<number | undefined> {
  if (intent.released) return undefined;
  const { store, actions } = context;
  const last = (await store.attemptedOn(intent.target)).find(
    (other) =>
      other.id !== intent.id &&
      isSameTarget(other, intent, actions) &&
      actions.get(other.action)?.fieldWritten === action.fieldWritten,
  );
  const did = last && isDone(last) ? actions.get(last.action) : undefined;
  if (!did || !contradicts(last as Intent, did, (id) => stateIn(fresh, did, id))) return undefined;
  const leftMs = leftOfQuietMs(context, (last as Intent).settledAt ?? 0);
  return leftMs > 0 ? leftMs : undefined;
}

function leftOfQuietMs({ steady, quiet }: ActContext, atMs: number): number {
  return quiet.read().ms - elapsedMs(steady.read(), atMs);
}

function stateIn({ records }: ReadBack, { fieldWritten }: ActionTraits, subjectId: string): string | undefined {
  const record = recordOf(records, subjectId);
  return record && fieldWritten && flagText(record, fieldWritten);
}

/** As far as the subject of an intent or claim shows it: where the target is none of its own records, all of the target. */
function stateOf(
  context: ActContext,
  fresh: ReadBack,
  traits: ActionTraits,
  one: Pick<IntentBasis, 'rule' | 'subjectId'>,
): string | undefined {
  const { fieldWritten } = traits;
  if (fieldWritten === undefined || !isBeside(context, traits, one)) return stateIn(fresh, traits, one.subjectId);
  const states = fresh.records.map((record) => flagText(record, fieldWritten));
  return stateOfAll(states, traits);
}

/** For an action that this version does not have, only the target's text is known: an equal text is enough. */
function mayHaveChanged(other: Intent, intent: Intent, actions: ActContext['actions']): boolean {
  const action = actions.get(other.action);
  return action === undefined || (action.changesFleet && isSameTarget(other, intent, actions));
}

function ruleFacts(
  context: ActContext,
  { rule, ruleHash, subjectId, episodeId, facts }: IntentBasis,
  rollouts: readonly RolloutState[],
): BasisFacts {
  const ruleNow = context.ruleNow(rule);
  const rollout =
    ruleNow?.rollout && rolloutFacts(ruleNow, stateOfRollout(ruleNow, rollouts), placeAmong(ALL, rule, subjectId));
  return { rule, ruleHash, subjectId, episodeId, facts, ruleNow, canJudge: context.canJudge(rule), rollout };
}

/** A rule file may have other steps by now, and a person may have resumed it. */
async function rolloutsOf({ ruleNow, store }: ActContext, { basis }: Intent): Promise<RolloutState[]> {
  return basis.some(({ rule }) => ruleNow(rule)?.rollout) ? store.rollouts() : [];
}

/** The subject's record among those just read, found by key. */
function recordFacts(
  context: ActContext,
  action: ActionTraits,
  { target, undo }: Intent,
  basis: IntentBasis,
  { records, beside = [] }: ReadBack,
): Pick<BasisFacts, 'record' | 'verdict' | 'isPassedOn'> {
  const isOther = isBeside(context, action, basis);
  const record = recordOf(isOther ? beside : records, basis.subjectId);
  if (!record) return { record };
  const verdict = context.recheck(basis.rule, record);
  if (!isOther || (undo && verdict === 'no_match')) return { record, verdict };
  const serials = ownTexts(record, 'SerialNumbers');
  if (serials === undefined) return { record, verdict: 'unknown' };
  if (serials.includes(target)) return { record, verdict };
  if (!undo) return { record, verdict: 'no_match', isPassedOn: true };
  const owners = records.map((device) => ownTexts(device, 'Emails'));
  return { record, verdict: areOthers(owners, basis.subjectId) ? 'no_match' : verdict };
}

function recordOf(records: readonly Facts[], subjectId: string): Facts | undefined {
  const keys = ['DeviceID', 'ServiceID', 'Email'];
  return records.find((one) => keys.some((key) => Object.hasOwn(one, key) && one[key] === subjectId));
}

/** Its episode may have seen the target in its state, no matter who changed it, or seen a person reverse it. */
function episodeFacts(
  { action, target }: Intent,
  { episodeId }: IntentBasis,
  episode: Episode | undefined,
  claims: readonly ClaimFacts[],
): Pick<BasisFacts, 'isOver' | 'wasSeenDone'> {
  const isClaimed = claims.some((claim) => claim.episodeId === episodeId && claim.action === action);
  const hasSeen = episode?.seenSo.includes(seenKey(action, target)) || episode?.overriddenAt !== undefined;
  return { isOver: (episode?.state ?? 'closed') === 'closed', wasSeenDone: isClaimed || hasSeen };
}

async function roomOf({ store, clock, counts, subjects, settings }: ActContext, action: Action): Promise<number> {
  const lastDay = (await store.attemptsSince(action.name, clock.nowMs() - DAY_MS)) + counts.unsentOf(action.name);
  const thisRun = counts.attemptsOf(action.name);
  return attemptsAllowed(settings.ceilings, { subjects: subjects[kindOfTarget(action)], thisRun, lastDay });
}
