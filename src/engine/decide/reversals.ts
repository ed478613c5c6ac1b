// decide: reversals. Whether a target, as a trusted snapshot shows it, is no longer in the state that a claim or an episode knows of it, and which
// episodes that concerns. In: claims, episodes and what was pulled. Out: the value found, or undefined when nothing shows that a person changed it. Pure.

import { elapsedMs } from '../../base/time.ts';
import {
  type ActionName,
  type ActionTraits,
  isShownByOthers,
  kindOfTarget,
  MEMBERSHIP,
  membershipOf,
  stateOfAll,
} from '../../domain/action.ts';
import { type Claim, type Episode, seenKey, seenOfKey } from '../../domain/episode.ts';
import type { NamedAct } from '../../domain/event.ts';
import { nameKey } from '../../domain/identity.ts';
import { contradicts, isDone, settledMs } from '../../domain/intent.ts';
import { attemptOfKey, type OpenState } from '../../domain/store.ts';
import { type Fleet, SOURCE_OF, type StateRead, type SubjectRef, summaryOf } from '../../domain/subjects.ts';
import type { FollowedEpisodes } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { add, aimOf, type KnownIntents, type Proposal } from './proposal.ts';

// What somebody took back and did again between two readings, so that no reading shows it. In: acts of others that the
// event log names, our own acts. Out: the two acts that made a state of ours somebody else's, or undefined. Pure.
// INVARIANT: it is asked only to end a claim. A forged event leaves the target as it is, and Trustward does less.

export interface AwayAndBack {
  away: NamedAct;
  back: NamedAct;
}

/** The server sends its time in whole seconds, by which events are set against our own acts. */
const CLOCK_MARGIN_MS = 2_000;

type OwnActs = Pick<DecideInput, 'openState' | 'steady' | 'quietMs'>;

export class NamedActs {
  private readonly bySubject = new Map<string, NamedAct[]>();
  /** By the text of the target, whichever action it was: when we last touched it. */
  private ownActs: Map<string, number> | undefined;

  constructor(
    acts: readonly NamedAct[],
    private readonly own: OwnActs,
  ) {
    for (const act of acts) {
      const key = `${act.subject.kind} ${act.subject.id}`;
      this.bySubject.set(key, [...(this.bySubject.get(key) ?? []), act]);
    }
  }

  /**
   * The newest named act is the one that we did, so the log agrees with a reading that shows its state; before it, and after all that we did to the
   * target, somebody did the opposite.
   */
  awayAndBack(
    { target, action }: Claim,
    shownBy: readonly SubjectRef[],
    { inverse }: ActionTraits,
  ): AwayAndBack | undefined {
    const known = shownBy.flatMap(({ kind, id }) => this.bySubject.get(`${kind} ${id}`) ?? []);
    if (known.length === 0 || inverse === undefined || this.mayStillTakeEffect(target, inverse)) return undefined;
    const acts = known.filter((act) => this.isAfterOurs(act, target)).toSorted((a, b) => a.atMs - b.atMs);
    const back = acts.at(-1);
    const away = acts.findLast((act) => act.action === inverse);
    return back?.action === action && away ? { away, back } : undefined;
  }

  /** A quiet period after all that we did to this target. After a jump of the clock less time counts than went by. */
  isAfterOurs({ atMs }: NamedAct, target: string): boolean {
    const { steady, quietMs } = this.own;
    const lastMs = this.lastOwnActs().get(target);
    return lastMs === undefined || elapsedMs(steady, lastMs) - (steady.nowMs - atMs) >= quietMs + CLOCK_MARGIN_MS;
  }

  private lastOwnActs(): ReadonlyMap<string, number> {
    if (this.ownActs) return this.ownActs;
    const last = new Map<string, number>();
    const note = (target: string, atMs: number) => last.set(target, Math.max(atMs, last.get(target) ?? 0));
    const { lastAttempts, intents, claims } = this.own.openState;
    for (const [key, sentAt] of lastAttempts) note(attemptOfKey(key).target, sentAt);
    for (const { mode, target, sentAt, settledAt } of intents)
      if (mode !== 'dry-run') note(target, Math.max(sentAt ?? 0, settledAt ?? 0));
    const known = new Set(intents.map(({ id }) => id));
    for (const { intentId, target, openedAt } of claims) if (!known.has(intentId)) note(target, openedAt);
    this.ownActs = last;
    return last;
  }

  /** Our own opposite act, in doubt or given up in doubt, may have come late: it is not told from a person's. */
  private mayStillTakeEffect(target: string, inverse: string): boolean {
    return this.own.openState.intents.some(
      (intent) =>
        intent.target === target &&
        intent.action === inverse &&
        intent.mode !== 'dry-run' &&
        intent.status !== 'withdrawn' &&
        intent.outcome !== 'failed' &&
        !isDone(intent),
    );
  }
}

/**
 * What a list shows; whether that may be believed is `isAgreed`. INVARIANT: a state that changes right after an attempt, or
 * while an attempt of ours is in doubt, may be a stale read or our own change. A missing field does not show what anybody did.
 */
export function foundReversed(
  claim: Claim,
  input: DecideInput,
  followed: FollowedEpisodes,
  known: KnownIntents,
  shown: Shown,
): string | undefined {
  const traits = input.traits.get(claim.action);
  const kind = followed.episodes.get(claim.episodeId)?.subject.kind;
  if (!traits?.fieldWritten || !kind || known.doubtOn(claim)) return undefined;
  const undo = traits.inverse && known.of(traits.inverse, claim.target, claim.episodeId);
  if (undo && (undo.outcome !== 'failed' || mayBeStale(settledMs(undo), input))) return undefined;
  const intent = known.byId(claim.intentId);
  if (mayBeStale(intent && settledMs(intent), input)) return undefined;
  const found = shown.stateOf({ kind, id: claim.subjectId }, traits, claim.target);
  if (found === traits.valueWritten) return undefined;
  return undo && !isWhollyReversed(claim, input, traits) ? undefined : found;
}

/** An undo that failed may have been done in part: until nothing is left to undo, that is not somebody's reversal. */
function isWhollyReversed(
  { target }: Claim,
  input: DecideInput,
  { fieldWritten, valueWritten }: ActionTraits,
): boolean {
  return input.fleet.devicesOf(target).every(({ state }) => state[fieldWritten as string] !== valueWritten);
}

/** The subjects whose records show the state of a target: the matched one, or the devices of the user that a rule is about. */
export function shownBy(
  subject: SubjectRef,
  traits: ActionTraits,
  target: string,
  fleet: Pick<Fleet, 'devicesOf'>,
): SubjectRef[] {
  if (!isShownByOthers(traits, subject.kind)) return [subject];
  return fleet.devicesOf(target).map(({ id }) => ({ kind: kindOfTarget(traits), id }));
}

/**
 * What the trusted lists of this run show of a subject, whichever rule asks. The whole fleet and the list of bundles are known; of a
 * service, what some verdict of this run is about.
 */
export class Shown {
  private services: Map<string, StateRead> | undefined;

  constructor(private readonly input: Pick<DecideInput, 'sources' | 'fleet' | 'bundles' | 'judgements'>) {}

  by(subject: SubjectRef, traits: ActionTraits, target: string): SubjectRef[] {
    return shownBy(subject, traits, target, this.input.fleet);
  }

  /** As far as this subject shows it. */
  stateOf(subject: SubjectRef, traits: ActionTraits, target: string): string | undefined {
    const states = this.by(subject, traits, target).map((one) => this.ownStateOf(one, traits, target));
    return stateOfAll(states, traits);
  }

  private ownStateOf({ kind, id }: SubjectRef, { fieldWritten }: ActionTraits, target: string): string | undefined {
    const { sources, fleet, bundles } = this.input;
    const reading = sources[SOURCE_OF[kind]];
    if (reading.state !== 'read' || !reading.trusted || fieldWritten === undefined) return undefined;
    if (fieldWritten === MEMBERSHIP) return membershipOf(bundles, target);
    if (kind === 'device') return fleet.devicesOf(target).find((device) => device.id === id)?.state[fieldWritten];
    return this.serviceStates().get(id)?.[fieldWritten];
  }

  private serviceStates(): ReadonlyMap<string, StateRead> {
    const services = this.input.judgements.filter(({ kind }) => kind === 'service');
    this.services ??= new Map(
      services.flatMap(({ matches, open }) => [...matches, ...open].map(({ summary }) => [summary.id, summary.state])),
    );
    return this.services;
  }
}

/** A reversal that this run saw: of which action, on which target, seen of which subject. */
export interface Reversal {
  traits: ActionTraits;
  target: string;
  subject: SubjectRef;
  found: string;
  /** No reading shows it: the target is as we left it, and the event log names who took it back and did it again. */
  named?: AwayAndBack;
}

/**
 * The episodes that a reversal concerns: all that propose what was reversed for this target, whether this run judges their rules or not, whether they
 * are due, and whatever their verdict is now; and those whose rule is missing, of which nobody knows what it proposes when it is back. An episode
 * that begins now is a new match.
 */
export function* episodesReversed(
  reversals: readonly Reversal[],
  input: DecideInput,
  followed: FollowedEpisodes,
  shown: Shown,
): Generator<[Episode, Reversal, isProposed: boolean], void> {
  if (reversals.length === 0) return;
  const bySubject = new Map<string, Reversal[]>();
  for (const reversal of reversals) {
    const { subject, target, traits } = reversal;
    const devices = kindOfTarget(traits) === 'device' ? input.fleet.devicesOf(target) : [];
    const owners = devices.flatMap((device) => device.owners ?? []);
    const keys = [subject, ...devices.map(({ id }) => deviceRef(id)), ...owners.map(userRef)].map(keyOfSubject);
    for (const key of new Set(keys)) add(bySubject, key, reversal);
  }
  const byEpisode = decidedBefore(reversals, input);
  // By their times, a match of before a clock was set back would be new.
  const before = new Set(input.openState.episodes.map(({ id }) => id));
  for (const episode of followed.episodes.values()) {
    const { id, subject, state, overriddenAt } = episode;
    if (state === 'closed' || overriddenAt !== undefined || !before.has(id)) continue;
    const own = bySubject.get(keyOfSubject(subject)) ?? [];
    const proposed = [...own.filter((one) => isProposedBy(episode, one, input)), ...(byEpisode.get(id) ?? [])];
    const reversal = proposed.find((one) => isConcerned(episode, one, shown));
    if (reversal) yield [episode, reversal, true];
    else if (!input.activeRules.has(episode.rule))
      for (const one of own) if (isConcerned(episode, one, shown)) yield [episode, one, false];
  }
}

const deviceRef = (id: string): SubjectRef => ({ kind: 'device', id });
const userRef = (id: string): SubjectRef => ({ kind: 'user', id });

/** Devices and users may write one address in two cases. */
function keyOfSubject({ kind, id }: SubjectRef): string {
  return `${kind} ${kind === 'user' ? nameKey(id) : id}`;
}

/**
 * A subject that is in the state is not concerned by a reversal that was read. INVARIANT: by one that the log alone names, only a subject that is in
 * the state is, for a match from before it: an event keeps nobody from being acted on who is not.
 */
function isConcerned({ subject, since }: Episode, { traits, target, named }: Reversal, shown: Shown): boolean {
  const isSo = shown.stateOf(subject, traits, target) === traits.valueWritten;
  return named ? isSo && since < named.away.atMs : !isSo;
}

/** Whether the rule of an episode, as it is now, does this on this target. */
export function isProposedBy(
  { rule: id, subject }: Episode,
  { traits, target }: Pick<Reversal, 'traits' | 'target'>,
  { activeRules }: Pick<DecideInput, 'activeRules'>,
): boolean {
  const rule = activeRules.get(id);
  const serial = subject.kind === 'device' ? target : '';
  const serials = subject.kind === 'user' ? [target] : undefined;
  const summary = { ...summaryOf(subject.kind, {}), id: subject.id, serial, serials };
  return (rule?.then ?? []).some(
    ({ action, with: settings }) => action === traits.name && traits.target.of(summary, settings).includes(target),
  );
}

/** By episode: what decisions in force propose of it. Its subject may be in no list now. */
function decidedBefore(reversals: readonly Reversal[], { openState }: DecideInput): Map<string, Reversal[]> {
  const byKey = new Map(reversals.map((reversal) => [seenKey(reversal.traits.name, reversal.target), reversal]));
  const found = new Map<string, Reversal[]>();
  for (const { action, target, episodeId } of openState.decisions) {
    const reversal = byKey.get(seenKey(action, target));
    if (reversal && episodeId !== undefined) add(found, episodeId, reversal);
  }
  return found;
}

/** Whether something of ours that is done on the proposal's target contradicts what was read, within the quiet period after it. */
export function isContradictedJustNow(
  proposal: Proposal,
  input: DecideInput,
  known: KnownIntents,
  shown: Shown,
): boolean {
  const { traits, target, summary } = proposal;
  const last = known.lastDoneOn(aimOf(proposal), traits);
  if (!last || !mayBeStale(settledMs(last.intent), input)) return false;
  const stateOf = (id: string) => shown.stateOf({ kind: summary.kind, id }, last.traits, target);
  return contradicts(last.intent, last.traits, stateOf);
}

/** Whether a list may be believed that shows it reversed. Where no list was read, and in a record of an earlier version, it counts as it is. */
export function isAgreed(
  { ownReads }: Pick<DecideInput, 'ownReads'>,
  { name, fieldWritten }: ActionTraits,
  target: string,
): boolean {
  return ownReads === undefined || fieldWritten === MEMBERSHIP || ownReads.get(seenKey(name, target)) === 'as_listed';
}

/** Whether a list shows it reversed, and its own record could not be read. */
export function isUnread(
  { ownReads }: Pick<DecideInput, 'ownReads'>,
  { action, target }: Pick<Claim, 'action' | 'target'>,
): boolean {
  return ownReads?.get(seenKey(action, target)) === 'unread';
}

/** Whether what this run read may be older than what was recorded at that time. */
export function mayBeStale(
  atMs: number | undefined,
  { steady, quietMs }: Pick<DecideInput, 'steady' | 'quietMs'>,
): boolean {
  return atMs !== undefined && elapsedMs(steady, atMs) < quietMs;
}

// What a list shows otherwise than what was done last: a person's reversal, or a list that stands still.

export type ListReads = Pick<
  DecideInput,
  'traits' | 'openState' | 'sources' | 'fleet' | 'bundles' | 'judgements' | 'steady' | 'quietMs'
>;

export interface Suspect {
  traits: ActionTraits;
  target: string;
  subject: SubjectRef;
  /** What the list shows. */
  found: string;
}

/**
 * INVARIANT: every reversal that deciding records of a list is among them. Within the quiet period nothing is concluded, so nothing is read.
 * Whether a service is in a bundle, only the list of bundles shows: it has just been read.
 */
export function suspects(seen: ListReads): Suspect[] {
  const { openState, traits: known } = seen;
  const shown = new Shown(seen);
  const episodes = new Map(openState.episodes.map((episode) => [episode.id, episode]));
  const settled = new Map(openState.intents.map((intent) => [intent.id, settledMs(intent)]));
  const justNow = attemptedJustNow(openState, seen);
  const found = new Map<string, Suspect>();
  const note = (action: ActionName, target: string, matched: SubjectRef | undefined) => {
    const traits = known.get(action);
    if (!traits || !matched || traits.fieldWritten === MEMBERSHIP || justNow.has(seenKey(action, target))) return;
    if (traits.inverse !== undefined && justNow.has(seenKey(traits.inverse, target))) return;
    const state = shown.stateOf(matched, traits, target);
    const subject = shown.by(matched, traits, target).find((one) => shown.stateOf(one, traits, target) === state);
    if (!subject || state === undefined || state === traits.valueWritten) return;
    found.set(seenKey(action, target), { traits, target, subject, found: state });
  };
  for (const { action, target, episodeId, subjectId, intentId } of openState.claims) {
    const kind = episodes.get(episodeId)?.subject.kind;
    if (!mayBeStale(settled.get(intentId), seen)) note(action, target, kind && { kind, id: subjectId });
  }
  for (const { state, overriddenAt, seenSo, subject } of openState.episodes) {
    if (state === 'closed' || overriddenAt !== undefined) continue;
    for (const { action, target } of seenSo.map(seenOfKey)) note(action, target, subject);
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, suspect]) => suspect);
}

/** `action target` of attempts that reads may not show yet, as `seenKey`. */
export function attemptedJustNow(
  { lastAttempts }: Pick<OpenState, 'lastAttempts'>,
  at: Pick<DecideInput, 'steady' | 'quietMs'>,
): ReadonlySet<string> {
  const justNow = [...lastAttempts].filter(([, sentAt]) => mayBeStale(sentAt, at));
  // A rule's id holds no space. A target may hold anything, even text that looks like another action on another target.
  return new Set(justNow.map(([key]) => key.slice(key.indexOf(' ') + 1)));
}
