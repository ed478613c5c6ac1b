// history: two rule sets over the same recorded time, each as a what-if. In: the history, the rules of both. Out: who is added and who goes, now
// and over that time, by rule and in all. Equal sets give no difference.
import { canonicalJson } from '../../base/json.ts';
import type { HistoryReader } from '../../domain/recorded-history.ts';
import {
  DIFFERING_MAX,
  type DifferingSubject,
  type DifferingSubjects,
  type ReplayedRule,
  type ReplayedUnread,
  type RuleDifference,
  type RuleSetDifference,
} from '../../domain/replay.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { type FoundWhatIf, findWhatIf, type WhatIfOptions } from './what-if.ts';
import type { Concerned } from './what-if-rules.ts';

/** Errors: as `whatIf`. */
export async function compareRuleSets(
  reader: HistoryReader,
  sets: { old: readonly LoadedRule[]; new: readonly LoadedRule[] },
  options: Omit<WhatIfOptions, 'only'>,
): Promise<RuleSetDifference> {
  const old = await findWhatIf(reader, sets.old, options);
  const fresh = await findWhatIf(reader, sets.new, options);
  const ids = [...new Set([...old.replay.rules, ...fresh.replay.rules].map(({ id }) => id))].sort();
  const { fromMs, toMs, askedFromMs, runs, gaps, untrusted, notes, neverRecorded } = fresh.replay;
  return {
    nowAtMs: fresh.now?.atMs,
    fromMs,
    toMs,
    askedFromMs,
    runs,
    gaps,
    untrusted,
    notes,
    rules: ids.map((id) => differenceOf(id, old, fresh)).filter(isAny),
    all: {
      now: moved(anyRule(matchedNow(old)), anyRule(matchedNow(fresh))),
      overTime: moved(anyRule(old.concerned), anyRule(fresh.concerned)),
    },
    unread: unreadByAny(old.replay.unread, fresh.replay.unread),
    neverRecorded,
  };
}

/** A list that only the old rules need hides what would go. */
function unreadByAny(old: readonly ReplayedUnread[], fresh: readonly ReplayedUnread[]): ReplayedUnread[] {
  return [...fresh, ...old.filter(({ list }) => !fresh.some((one) => one.list === list))];
}

function differenceOf(id: string, old: FoundWhatIf, fresh: FoundWhatIf): RuleDifference {
  const [was, is] = [ruleIn(old, id), ruleIn(fresh, id)];
  const [matched, matches] = [matchedNow(old).get(id), matchedNow(fresh).get(id)];
  const [before, after] = [old.concerned.get(id), fresh.concerned.get(id)];
  return {
    id,
    title: (is ?? was)?.title ?? '',
    change: changeOf(was, is),
    now: {
      old: was && { matches: matched?.size ?? 0, unknown: old.now?.unknown.get(id) ?? 0 },
      new: is && { matches: matches?.size ?? 0, unknown: fresh.now?.unknown.get(id) ?? 0 },
      added: without(matches, matched),
      gone: without(matched, matches),
    },
    overTime: { old: was, new: is, added: without(after, before), gone: without(before, after) },
  };
}

function ruleIn({ replay }: FoundWhatIf, id: string): ReplayedRule | undefined {
  return replay.rules.find((rule) => rule.id === id);
}

function changeOf(was: ReplayedRule | undefined, is: ReplayedRule | undefined): RuleDifference['change'] {
  if (!was) return 'added';
  if (!is) return 'removed';
  return was.hash === is.hash ? 'same' : 'changed';
}

/** A rule whose text is the same may act otherwise because of another one. */
function isAny({ change, now, overTime }: RuleDifference): boolean {
  const [was, is] = [overTime.old, overTime.new].map((rule) => JSON.stringify({ ...rule, title: '' }));
  const others = [now.added, now.gone, overTime.added, overTime.gone];
  const isUnknownElsewhere = canonicalJson(now.old ?? null) !== canonicalJson(now.new ?? null);
  return change !== 'same' || was !== is || isUnknownElsewhere || others.some(({ total }) => total > 0);
}

function matchedNow({ now }: FoundWhatIf): ReadonlyMap<string, Concerned> {
  return now?.matches ?? new Map();
}

function anyRule(byRule: ReadonlyMap<string, Concerned>): ReadonlySet<string> {
  return new Set([...byRule.values()].flatMap((subjects) => [...subjects.keys()]));
}

function moved(before: ReadonlySet<string>, after: ReadonlySet<string>): { added: number; gone: number } {
  const beside = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
    [...one].filter((key) => !other.has(key)).length;
  return { added: beside(after, before), gone: beside(before, after) };
}

function without(all: Concerned = NOBODY, others: Concerned = NOBODY): DifferingSubjects {
  const left = [...all].flatMap(([key, one]): DifferingSubject[] => (others.has(key) ? [] : [one]));
  left.sort((a, b) => a.atMs - b.atMs || (a.subject.id < b.subject.id ? -1 : 1));
  return { total: left.length, first: left.slice(0, DIFFERING_MAX) };
}

const NOBODY: Concerned = new Map();
