// decide: how the number of a run's proposals affects each of them: a rule's limits, an owner's devices, an action's ceiling.
// In: the proposals that the check is asked of. Out: facts to add to some of them. Pure. For proposals of one target: one-target.ts.
import type { ActionName } from '../domain/action.ts';
import { attemptsAllowed, ceilingSubject, share } from '../domain/ceiling.ts';
import type { CountedSince, TargetFacts } from '../domain/check.ts';
import { isLive } from '../domain/mode.ts';
import { PER_DAY_TIMES, type Rule } from '../domain/rule.ts';
import type { RuleLimits } from '../domain/run.ts';
import { latelyOf, type MatchedLately, partsOfLatelyKey } from '../domain/store.ts';
import { SEVERITIES, SOURCE_OF } from '../domain/subjects.ts';
import type { EarlierAnswers } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import { countedDevices, countedTargets } from './part.ts';
import { keyOfTarget, type Proposal, weighs } from './proposal.ts';

export interface Others {
  /** All proposals of the run, answered ones too. */
  proposals: readonly Proposal[];
  input: DecideInput;
  earlier: EarlierAnswers;
  /** Filled while the limits are weighed: by rule, what was compared. */
  compared: Map<string, RuleLimits>;
}

export type Added = ReadonlyMap<Proposal, Partial<TargetFacts>>;

export type Weigh = (asked: readonly Proposal[], others: Others) => Added;

/** If a limit is crossed, all the rule's proposals get the limit as a fact. An undo is bounded by its ceilings only. */
export function weighLimits(asked: readonly Proposal[], { proposals, input, compared }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const lastDay = subjectsOfDay(asked, proposals, input);
  for (const rule of input.judged) {
    const own = asked.filter((proposal) => proposal.rule.id === rule.id && !proposal.undo);
    const { max, percent } = rule.limits;
    const subjects = input.sources[SOURCE_OF[rule.subject]].count;
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

const DAY_MS = 86_400_000;

/**
 * By rule: the subjects that it newly matched or acted on within 24 hours, and those that it would act on now. One that matched again counts once,
 * a match that was over before `for` not at all, nor one that is exempt. Undefined: what was before is not known.
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
    for (const proposal of proposals) if (own(proposal) && proposal.exemption) subjects.delete(proposal.summary.id);
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

export function weighOwners(asked: readonly Proposal[], { input }: Others): Added {
  const { part, traits: known } = input;
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const taking = asked.filter((proposal) => !proposal.undo && proposal.traits.takesDevice);
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

function ownersOf(proposal: Proposal): string[] {
  return [...new Set(proposal.devices.flatMap((device) => device.owners ?? []).map((owner) => owner.toLowerCase()))];
}

/** Predicts what act/ will refuse: the most severe rules come first under the ceiling. act/ asks again before each call. */
export function weighCeilings(asked: readonly Proposal[], { input }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const bySeverity = asked
    .filter((proposal) => isLive(proposal.ownMode))
    .sort((a, b) => SEVERITIES.indexOf(b.rule.severity) - SEVERITIES.indexOf(a.rule.severity));
  const taken = new Map<ActionName, Set<string>>();
  for (const proposal of bySeverity) {
    const { name } = proposal.traits;
    const targets = taken.get(name) ?? new Set<string>();
    taken.set(name, targets);
    if (targets.has(proposal.target)) continue;
    const subjects = input.sources[SOURCE_OF[ceilingSubject(proposal.traits)]].count;
    const lastDay = (input.openState.attempts24h.get(name) ?? 0) + targets.size;
    const thisRun = (input.part?.attempts.get(name) ?? 0) + targets.size;
    const room = attemptsAllowed(input.settings.ceilings, { subjects, thisRun, lastDay });
    if (room > 0) targets.add(proposal.target);
    added.set(proposal, { room });
  }
  return added;
}
