// decide, third step: every proposal gets its answer: the first refusal of the checks of deciding, in their order, or `act`.
// In: proposals. Out: each with its answer. Each check is asked of all proposals before the next check is, since some answers depend
// on those of other proposals. Pure.

import { canonicalJson } from '../../base/json.ts';
import { DAY_MS, timeText } from '../../base/time.ts';
import { eachInSteps } from '../../base/turns.ts';
import {
  type ActionName,
  type ActionTraits,
  attemptsAllowed,
  isShownByOthers,
  kindOfTarget,
  share,
} from '../../domain/action.ts';
import {
  type Answer,
  type BasisFacts,
  type CheckName,
  type CountedSince,
  isRefusal,
  type Other,
  type Refusal,
  type Rival,
  type TargetFacts,
} from '../../domain/check.ts';
import { intentKey } from '../../domain/digest.ts';
import { seenKey } from '../../domain/episode.ts';
import { isDone } from '../../domain/intent.ts';
import { noticeStateOf } from '../../domain/notice.ts';
import { isLive, isOnTrial, leastMode, PER_DAY_TIMES, type Rule, waitsForPerson } from '../../domain/rule.ts';
import type { RuleLimits } from '../../domain/run.ts';
import {
  attemptKey,
  attemptOfKey,
  latelyOf,
  type MatchedLately,
  type OpenState,
  partsOfLatelyKey,
} from '../../domain/store.ts';
import { hasNoKnownDevice, SEVERITIES, SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import { CHECKS } from './checks/ask.ts';
import { LISTS } from './checks/stages.ts';
import { EarlierAnswers, isPlaceholder, isSo, isStillToBeDone, type ProposalInForce } from './earlier-answers.ts';
import { isHeldByGuards, weighDevicesOfDay, weighLastDevices } from './guards.ts';
import { countedDevices, countedTargets, type DecideInput } from './input.ts';
import type { Claims } from './observations.ts';
import {
  aimOf,
  effectOf,
  isAlreadySo,
  isOwnStateSo,
  isProposedByNow,
  keyOfTarget,
  ownersOf,
  type Proposal,
  proposalKey,
  unanswered,
  weighable,
  weighs,
} from './proposal.ts';

// How the number of a run's proposals affects each of them: a rule's limits, an owner's devices, an action's ceiling.

interface Others {
  /** All proposals of the run, answered ones too. */
  proposals: readonly Proposal[];
  input: DecideInput;
  earlier: EarlierAnswers;
  /** Filled while the limits are weighed: by rule, what was compared. */
  compared: Map<string, RuleLimits>;
}

type Added = ReadonlyMap<Proposal, Partial<TargetFacts>>;

type Weigh = (asked: readonly Proposal[], others: Others) => Added;

/** INVARIANT: a guard makes nothing more likely to be done: what it holds counts for limits and owners as if it were not there. */
function withGuarded(asked: readonly Proposal[], proposals: readonly Proposal[]): readonly Proposal[] {
  const held = proposals.filter(isHeldByGuards);
  return held.length === 0 ? asked : [...asked, ...held];
}

/** If a limit is crossed, all the rule's proposals get the limit as a fact. An undo is bounded by its ceilings only. */
function weighLimits(unanswered: readonly Proposal[], { proposals, input, compared }: Others): Added {
  const asked = withGuarded(unanswered, proposals);
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const lastDay = subjectsOfDay(asked, proposals, input);
  for (const rule of input.judged) {
    const own = asked.filter((proposal) => proposal.rule.id === rule.id && !proposal.undo);
    const { max, percent } = rule.limits;
    const subjects = input.sources[SOURCE_OF[kindLimited(rule, input)]].count;
    const byShare = share(percent, subjects);
    const { targets, since } = mostTargetsOfOneAction(own, rule.id, input);
    const allowed = Math.min(max, byShare);
    const perDay = rule.limits.perDay ?? allowed * (input.settings.perDayTimes ?? PER_DAY_TIMES);
    const inDay = lastDay && { subjects: lastDay(rule).size, allowed: perDay };
    compared.set(rule.id, { max, percent, allowed, targets, ...(inDay && { inDay }) });
    const crossed = targets > max ? `max ${max}` : `${percent} % of ${subjects} = ${byShare}`;
    const crossing = targets > allowed ? { limit: { targets, crossed, since } } : { limitOfDay: inDay };
    if (targets <= allowed && !(inDay && inDay.subjects > inDay.allowed)) continue;
    for (const proposal of own) added.set(proposal, crossing);
  }
  return added;
}

/** What its targets are a share of: its subjects, or the devices that a rule about users acts on. */
function kindLimited({ subject, then }: Rule, { traits: known }: Pick<DecideInput, 'traits'>): SubjectKind {
  const others = then
    .flatMap(({ action }) => known.get(action) ?? [])
    .filter((traits) => isShownByOthers(traits, subject));
  return others[0] ? kindOfTarget(others[0]) : subject;
}

/**
 * By rule: the subjects that it newly matched or acted on within 24 hours, and those that it would act on now. One that matched again counts once,
 * a match that was over before `for` not at all, nor one that is exempt or not among the share of a rollout. Undefined: what was before is not known.
 */
function subjectsOfDay(
  asked: readonly Proposal[],
  proposals: readonly Proposal[],
  { openState: { episodes, lately }, nowMs }: DecideInput,
): ((rule: Rule) => ReadonlySet<string>) | undefined {
  if (!lately) return undefined;
  const seen = new Map<string, [subject: string, MatchedLately][]>();
  const see = (rule: string, subject: string, one: MatchedLately) => {
    if (!one.acted && one.since <= nowMs - DAY_MS) return;
    const ofRule = seen.get(rule);
    if (ofRule) ofRule.push([subject, one]);
    else seen.set(rule, [[subject, one]]);
  };
  for (const [key, one] of lately) see(...partsOfLatelyKey(key), one);
  for (const { rule, subject, since, closedAt } of episodes) see(rule, subject.id, latelyOf({ since, closedAt }));
  for (const { rule, summary, episode, undo } of proposals)
    if (!undo && episode) see(rule.id, summary.id, { since: episode.since });
  return ({ id, forMs }) => {
    const lasted = ({ since, until = nowMs }: MatchedLately) => until - since >= forMs;
    const of = (seen.get(id) ?? []).filter(([, one]) => one.acted || lasted(one)).map(([subject]) => subject);
    const own = (proposal: Proposal) => proposal.rule.id === id && !proposal.undo;
    const subjects = new Set([...of, ...asked.filter(own).map(({ summary }) => summary.id)]);
    for (const proposal of proposals)
      if (own(proposal) && (proposal.exemption || proposal.rollout?.isAmong === false))
        subjects.delete(proposal.summary.id);
    return subjects;
  };
}

/**
 * A rule that disables a service and sends a notification about it has one target, not two. A run between two whole ones counts those of the
 * last whole run, and of the runs since, as its own.
 */
function mostTargetsOfOneAction(
  proposals: readonly Proposal[],
  rule: string,
  { part, traits }: DecideInput,
): { targets: number; since: CountedSince | undefined } {
  const byAction = countedTargets(part, rule, traits);
  const before = new Map([...byAction].map(([action, targets]) => [action, targets.size]));
  for (const proposal of proposals) {
    const { name } = proposal.traits;
    byAction.set(name, (byAction.get(name) ?? new Set()).add(keyOfTarget(proposal)));
  }
  const [action, targets] = [...byAction].reduce((most, one) => (one[1].size > most[1].size ? one : most), NOTHING);
  return { targets: targets.size, since: part && { targets: before.get(action) ?? 0, seq: part.sinceSeq } };
}

const NOTHING: [ActionName, ReadonlySet<string>] = ['', new Set()];

function weighOwners(asked: readonly Proposal[], { proposals, input }: Others): Added {
  const { part, traits: known } = input;
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const taking = withGuarded(asked, proposals).filter((proposal) => !proposal.undo && proposal.traits.takesDevice);
  const ofOwner = new Map<string, Proposal[]>();
  for (const proposal of taking) {
    for (const owner of ownersOf(proposal)) {
      const own = ofOwner.get(owner);
      if (own) own.push(proposal);
      else ofOwner.set(owner, [proposal]);
    }
  }
  for (const proposal of taking) {
    if (proposal.rule.owners === 'all') continue;
    if (input.fleet.hidesOwners && proposal.devices.some((device) => device.owners === undefined))
      added.set(proposal, { areOwnersUnread: true });
    for (const name of ownersOf(proposal)) {
      const others = (ofOwner.get(name) ?? []).filter((other) => weighs(other, proposal));
      const before = countedDevices(part, name, proposal.ownMode, known);
      const devices = new Set([...before, ...others.map(({ target }) => target)]).size;
      const since = part && { targets: before.size, seq: part.sinceSeq };
      if (devices > 1) added.set(proposal, { owner: { name, devices, since } });
    }
  }
  return added;
}

/** Predicts what act/ will refuse: the most severe rules come first under the ceiling. act/ asks again before each call. */
function weighCeilings(asked: readonly Proposal[], { input }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const bySeverity = asked
    .filter((proposal) => isLive(proposal.ownMode))
    .sort((a, b) => turnOf(a) - turnOf(b) || SEVERITIES.indexOf(b.rule.severity) - SEVERITIES.indexOf(a.rule.severity));
  const taken = new Map<ActionName, Set<string>>();
  for (const proposal of bySeverity) {
    const { name } = proposal.traits;
    const targets = taken.get(name) ?? new Set<string>();
    taken.set(name, targets);
    if (targets.has(proposal.target)) continue;
    const subjects = input.sources[SOURCE_OF[kindOfTarget(proposal.traits)]].count;
    const lastDay = (input.openState.attempts24h.get(name) ?? 0) + targets.size;
    const thisRun = (input.part?.attempts.get(name) ?? 0) + targets.size;
    const room = attemptsAllowed(input.settings.ceilings, { subjects, thisRun, lastDay });
    if (room > 0) targets.add(proposal.target);
    added.set(proposal, { room });
  }
  return added;
}

/** What can be done now goes before what waits for its deadline, and that before what nobody was warned of: so many are warned as may be done. */
function turnOf({ notice }: Proposal): number {
  if (!notice || notice.waits.length + notice.unwarned.length === 0) return 0;
  return notice.waits.some((one) => one.notice === undefined) ? 2 : 1;
}

// How proposals for one target affect each other: contrary ones hold each other, a deletion waits for all others, and
// what an undo does anyway needs no intent of its own.

/** An undo of several claims is one intent: an answer that keeps one part from acting keeps the others from it too. */
function weighUndoParts(asked: readonly Proposal[], { proposals }: Others): Added {
  const kept = new Map<string, Refusal>();
  for (const part of proposals) {
    if (part.undo && part.answer && isRefusal(part.answer)) kept.set(proposalKey(part), part.answer);
  }
  return new Map(
    asked.flatMap((part) => {
      const otherPart = part.undo ? kept.get(proposalKey(part)) : undefined;
      return otherPart ? [[part, { otherPart }] as const] : [];
    }),
  );
}

/**
 * Two proposals that exclude each other: each gets the other as its rival. A proposal whose state is already reached opposes only its
 * inverse: if the inverse were done, the proposal would act next, and the target would switch back and forth. Rules that are not
 * judged in this run still count with their last proposals: leaving them out of a run lifts no conflict.
 */
function weighRivals(asked: readonly Proposal[], { proposals, input, earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const acting = byTarget(asked);
  const keeping = byTarget(
    proposals.filter(
      (proposal) =>
        proposal.answer?.reason === 'already_so' && isProposedByNow(proposal, proposal.episode, input.nowMs),
    ),
  );
  for (const [key, group] of acting) {
    for (const proposal of group) {
      const wants = group.find((other) => isContrary(other, proposal) && weighs(other, proposal));
      const keeps = keeping
        .get(key)
        ?.find((other) => other.traits.name === proposal.traits.inverse && weighs(other, proposal));
      const said = earlier
        .on(aimOf(proposal))
        .find((other) => isContraryToSaid(proposal, other) && weighs(other, proposal));
      const rival = rivalOf('wants', wants) ?? rivalOf('is_so', keeps) ?? rivalOf('not_judged', said);
      if (rival) added.set(proposal, { rival });
    }
  }
  return added;
}

function rivalOf(how: Rival['how'], proposal: Proposal | ProposalInForce | undefined): Rival | undefined {
  return proposal && { ...otherOf(proposal), how };
}

function otherOf({ rule, traits }: Proposal | ProposalInForce): Other {
  return { rule: rule.id, action: traits.name };
}

/**
 * Contrary are an action and its inverse, one action with two settings, and a deletion and an action that gives something back.
 * An undo has no settings: its target shows what it undoes. It gives back nothing that a deletion could not take later.
 */
function isContrary(a: Proposal, b: Proposal): boolean {
  if (a.traits.name === b.traits.name) return !a.undo && !b.undo && proposalKey(a) !== proposalKey(b);
  return isOpposite(a, b);
}

/** The same for a stored decision. It has no settings: what it would change shows whether they differ. */
function isContraryToSaid(proposal: Proposal, other: ProposalInForce): boolean {
  const { traits, undo, said } = other;
  // A state that is already reached opposes only the inverse.
  if (isSo(other)) return traits.name === proposal.traits.inverse;
  if (traits.name !== proposal.traits.name) return isOpposite(proposal, other);
  if (undo || proposal.undo || traits.changes === undefined) return false;
  return canonicalJson(said.effect.changes ?? null) !== canonicalJson(effectOf(proposal).changes ?? null);
}

interface OneProposal {
  traits: ActionTraits;
  undo: boolean;
}

function isOpposite(a: OneProposal, b: OneProposal): boolean {
  return a.traits.inverse === b.traits.name || takesWhatIsGiven(a, b) || takesWhatIsGiven(b, a);
}

function takesWhatIsGiven({ traits }: OneProposal, giving: OneProposal): boolean {
  return traits.removesTarget === true && giving.traits.givesAccess === true && !giving.undo;
}

/**
 * An action that keeps the target goes before a deletion of it: a ban does not wait for a deletion, and the deletion is judged and
 * approved for the state after the ban. The deletion waits until the other proposal is done, rejected or over. It does not wait for
 * one that preflight withdrew.
 */
function weighDeletions(asked: readonly Proposal[], { earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const deleting = asked.filter(({ traits }) => traits.removesTarget);
  const groups = deleting.length === 0 ? new Map<string, Proposal[]>() : byTarget(asked);
  for (const proposal of deleting) {
    const group = groups.get(keyOfTarget(proposal)) ?? [];
    const first =
      group.find((other) => goesFirst(other, proposal) && !earlier.wasGivenUp(other)) ??
      earlier.on(aimOf(proposal)).find((other) => goesFirst(other, proposal) && isStillToBeDone(other));
    if (first) added.set(proposal, { first: otherOf(first) });
  }
  return added;
}

function goesFirst(other: Proposal | ProposalInForce, proposal: Proposal): boolean {
  return !other.traits.removesTarget && weighs(other, proposal);
}

/**
 * A rule may propose what an undo does anyway, such as to lift the ban whose rule has ceased to match. They never share an intent:
 * an undo is based on a rule that does not match, and leaves no claim; a proposal is based on a rule that matches, and opens one.
 * The undo is enough if it acts, or if both wait for a person: the proposal is skipped, and nobody is asked twice.
 * If the undo waits and the proposal may act, the proposal acts: a rule needs no approval because another one does.
 * In all other cases (the undo is rejected, parked, withdrawn by preflight, or of a rule on trial) the proposal keeps its own answer.
 */
function weighUndoings(asked: readonly Proposal[], { earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const undoing = byTarget(asked.filter((proposal) => proposal.undo && !earlier.wasGivenUp(proposal)));
  if (undoing.size === 0) return added;
  for (const proposal of asked.filter(({ undo }) => !undo)) {
    const enough = undoing
      .get(keyOfTarget(proposal))
      ?.find(
        (other) => other.traits.name === proposal.traits.name && weighs(other, proposal) && isNoSlower(other, proposal),
      );
    if (enough) added.set(proposal, { undoing: otherOf(enough) });
  }
  return added;
}

/** A proposal that has no answer yet acts. */
function isNoSlower(other: Proposal, than: Proposal): boolean {
  return other.answer === undefined || than.answer !== undefined;
}

function byTarget(proposals: readonly Proposal[]): Map<string, Proposal[]> {
  const groups = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    const key = keyOfTarget(proposal);
    groups.set(key, [...(groups.get(key) ?? []), proposal]);
  }
  return groups;
}

// What Trustward itself undid, and did before.

class OwnUndos {
  /** The last attempt of any rule by action and target, as `seenKey`. */
  private readonly last = new Map<string, number>();

  constructor(lastAttempts: OpenState['lastAttempts']) {
    for (const [key, atMs] of lastAttempts) {
      const { rule, action, target } = attemptOfKey(key);
      const about = seenKey(action, target);
      if (rule !== '') this.last.set(about, Math.max(this.last.get(about) ?? atMs, atMs));
    }
  }

  /** When it was undone, if that was after the attempt. */
  since({ inverse }: ActionTraits, target: string, attemptMs: number | undefined): number | undefined {
    const undoneMs = inverse === undefined ? undefined : this.last.get(seenKey(inverse, target));
    return undoneMs !== undefined && attemptMs !== undefined && undoneMs >= attemptMs ? undoneMs : undefined;
  }

  /** When it was undone, if it was done, undone, and is done again within 24 hours. */
  flap({ traits, target }: Proposal, nowMs: number): number | undefined {
    const doneMs = this.last.get(seenKey(traits.name, target));
    if (doneMs === undefined || nowMs - doneMs > DAY_MS) return undefined;
    return this.since(traits, target, doneMs);
  }
}

// The facts that checks get about a proposal.

function targetFacts(proposal: Proposal, claims: Claims, input: DecideInput, ownUndos: OwnUndos): TargetFacts {
  const { traits, target, undo, intent, doubt, isUnsettled, isUnread, mayBeTheirs, exemption, joined, guard, ownMode } =
    proposal;
  proposal.notice = noticeOf(proposal, input);
  return {
    traits,
    target,
    undo,
    basis: [basisOf(proposal, input, ownUndos)],
    nowMs: input.nowMs,
    steady: input.steady,
    credential: input.settings.credential,
    state: isAlreadySo(proposal) ? 'as_intended' : 'otherwise',
    ...devicesOf(proposal, input),
    isOwnSo: isOwnStateSo(proposal),
    // An undo is proposed only if all claims on the target are over.
    claims: undo ? [] : claims.factsOn(aimOf(proposal)),
    doubt: doubt === intent ? undefined : doubt,
    // This holds even if its own intent failed: then another rule's intent did it, and this episode claims that.
    justDoneMs: isUnsettled && !(intent && isDone(intent)) ? input.quietMs : undefined,
    isUnread: isUnread === true,
    mayBeTheirs: mayBeTheirs === true,
    exemption,
    joined,
    guard,
    // A rule on trial is not stopped: it begins nothing.
    stop: isLive(ownMode) ? input.openState.stop : undefined,
    freeze: input.freeze,
    ownMode,
    approver: approverOf(input),
  };
}

/** Whom its rule warns: the user that it matched, or the owners of all devices that it would hit. */
export function ownersToWarn({ summary, devices }: Pick<Proposal, 'summary' | 'devices'>): string[] | undefined {
  if (summary.kind === 'user') return [summary.id];
  if (devices.some(({ owners }) => owners === undefined)) return undefined;
  return devices.flatMap(({ owners = [] }) => owners);
}

function noticeOf(proposal: Proposal, { openState, nowMs, steady, settings }: DecideInput): Proposal['notice'] {
  const { rule, traits, undo, episode } = proposal;
  if (!rule.notice || undo || !traits.takesDevice) return undefined;
  const notices = openState.notices?.get(episode?.id ?? '') ?? [];
  return noticeStateOf(rule.notice, { owners: ownersToWarn(proposal), notices }, { nowMs, steady, ...settings });
}

function basisOf(
  { rule, summary, episode, intent, trusted, traits, target, older, notice, rollout }: Proposal,
  input: DecideInput,
  ownUndos: OwnUndos,
): BasisFacts {
  const { openState } = input;
  const { rejected, lastAttempts } = openState;
  const lastAttemptMs = lastAttempts.get(attemptKey(rule.id, traits.name, target));
  const reasons = () => rule.sources.flatMap((source) => input.sources[source].reasons.map(({ text }) => text));
  const isRejected =
    episode !== undefined &&
    rejected.size > 0 &&
    rejected.has(intentKey({ action: traits.name, target, basis: [{ episodeId: episode.id }] }));
  return {
    rule: rule.id,
    subjectId: summary.id,
    episodeId: episode?.id,
    ruleNow: rule,
    ruleHash: rule.hash,
    untrusted: trusted ? undefined : reasons().join('; '),
    older,
    earlier: intent,
    isRejected,
    overriddenAt: episode?.overriddenAt,
    isReleased: isReleased(episode?.overriddenAt, { action: traits.inverse, target }, openState),
    matchingSince: episode?.matchingSince,
    notice,
    rollout,
    lastAttemptMs: ownUndos.since(traits, target, lastAttemptMs) ? undefined : lastAttemptMs,
  };
}

/** A release overrides the episodes of its target after its intent is made and before that is answered. */
function isReleased(
  overriddenAt: number | undefined,
  undo: { action: ActionName | undefined; target: string },
  { intents }: OpenState,
): boolean {
  if (overriddenAt === undefined) return false;
  return intents.some(
    ({ released, action, target, createdAt, settledAt = overriddenAt }) =>
      released === true &&
      action === undo.action &&
      target === undo.target &&
      createdAt <= overriddenAt &&
      overriddenAt <= settledAt,
  );
}

/** A user has no serial number: the serial number of the deletion's target counts. A user without a known device has none. */
function devicesOf(proposal: Proposal, { settings }: DecideInput): Pick<TargetFacts, 'serial' | 'noDevices'> {
  const { traits, summary, target, devices } = proposal;
  if (!traits.target.serialOf) return {};
  // What is undone was a device of theirs.
  if (!proposal.undo && summary.kind === 'user' && hasNoKnownDevice(summary))
    return { noDevices: summary.serials === undefined ? 'unknown' : 'none' };
  if (isShownByOthers(traits, summary.kind) && devices.length === 0) return { noDevices: 'gone' };
  const number = summary.kind === 'device' ? summary.serial : traits.target.serialOf(target, proposal.settings);
  const placeholder = isPlaceholder(number, settings.placeholderSerials);
  return { serial: { number, isPlaceholder: placeholder, devices, devicesMax: settings.serialDevicesMax } };
}

function approverOf({ runMode, daemonMode }: DecideInput): TargetFacts['approver'] {
  if (waitsForPerson(daemonMode)) return 'daemon';
  return waitsForPerson(leastMode(runMode, daemonMode)) ? 'run' : undefined;
}

/** Facts that depend on other proposals, added before the check that needs them is asked. */
const WEIGH: { readonly [check in CheckName]?: Weigh } = {
  'whole-undo': weighUndoParts,
  conflict: weighRivals,
  'other-first': weighDeletions,
  'last-device': weighLastDevices,
  'devices-of-a-day': weighDevicesOfDay,
  limits: weighLimits,
  owners: weighOwners,
  ceiling: weighCeilings,
  'undone-anyway': weighUndoings,
};

/** Whether the check weighs a proposal among the others of its run. */
export function weighsOthers(check: CheckName): boolean {
  return WEIGH[check] !== undefined;
}

/** Returns what was compared with the limits of each rule. */
export function* answer(
  proposals: readonly Proposal[],
  claims: Claims,
  input: DecideInput,
): Generator<void, ReadonlyMap<string, RuleLimits>> {
  const compared = new Map<string, RuleLimits>();
  const facts = new Map<Proposal, TargetFacts>();
  const ownUndos = new OwnUndos(input.openState.lastAttempts);
  yield* eachInSteps(proposals, (proposal) => facts.set(proposal, targetFacts(proposal, claims, input, ownUndos)));
  const earlier = new EarlierAnswers(input);
  for (const { check, of } of LISTS.deciding) {
    const { ask, unlifted } = CHECKS[check];
    const asked = (unlifted ? weighable(proposals) : unanswered(proposals)).filter(
      ({ traits }) => of === 'all' || traits.changesFleet,
    );
    const added = WEIGH[check]?.(asked, { proposals, input, earlier, compared });
    yield;
    for (const proposal of asked) {
      const [known, more] = [facts.get(proposal) as TargetFacts, added?.get(proposal)];
      proposal.answer = ask(more ? { ...known, ...more } : known) ?? proposal.answer;
    }
    yield;
  }
  for (const proposal of unanswered(proposals)) proposal.answer = toAct(proposal, ownUndos.flap(proposal, input.nowMs));
  return compared;
}

function toAct({ undo, isPassedOn, summary, traits }: Proposal, undoneMs: number | undefined): Answer {
  if (undo) {
    const text = isPassedOn ? `it is no longer a device of ${summary.id}` : 'no rule that did it matches any longer';
    return { decision: 'act', reason: 'cleared', reasonText: text };
  }
  if (undoneMs === undefined) return { decision: 'act', reason: 'rule_matches', reasonText: 'the rule matches' };
  const text = `the rule matches again: Trustward undid ${traits.name} at ${timeText(undoneMs)}`;
  return { decision: 'act', reason: 'matches_again', reasonText: text };
}

/** A rule on trial is never held, since nobody can approve it: its answer names what would hold it if the rule were live. */
export function reportTrials(proposals: readonly Proposal[]): void {
  for (const proposal of proposals) {
    const { answer, ownMode } = proposal;
    if (answer?.decision !== 'hold' || !isOnTrial(ownMode)) continue;
    proposal.answer = { ...answer, decision: 'act', reasonText: `it would wait: ${answer.reasonText}` };
  }
}
