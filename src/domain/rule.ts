// domain: how far something may go. The lowest of the rule's, the run's and the daemon's mode counts.
// Every comparison of modes has its name here: what may call, what waits for a person, what is only tried out.
import { sameButSpelling } from '../base/nearest-name.ts';
import { timeText } from '../base/time.ts';
import type { ActionName } from './action.ts';
import type { ChangeWindow } from './change-window.ts';
import type { Fact } from './facts.ts';
import type { Guards } from './guards.ts';
import type { Rollout } from './rollout.ts';
import { OTHER_VALUES } from './snapshot.ts';
import type { RuleSeverity, Source, SubjectKind } from './subjects.ts';

export const MODES = ['off', 'dry-run', 'approve', 'enforce'] as const;
export type Mode = (typeof MODES)[number];

export function leastMode(...modes: Mode[]): Mode {
  return MODES[Math.min(...modes.map((mode) => MODES.indexOf(mode)))] ?? 'off';
}

/** Whether a run, a daemon or an intent of this mode may change something, by itself or with an approval. */
export function isLive(mode: Mode): boolean {
  return mode === 'approve' || mode === 'enforce';
}

/** Whether a rule of this mode is tried out (or off): it holds back no other rule. */
export function isOnTrial(mode: Mode): boolean {
  return !isLive(mode);
}

/** Nothing is done before a person approved it. */
export function waitsForPerson(mode: Mode): boolean {
  return mode === 'approve';
}

/** It acts without being asked. */
export function actsAlone(mode: Mode): boolean {
  return mode === 'enforce';
}

/** Whether an intent may be sent in this mode: an approved intent is sent in mode `approve` too. */
export function allowsCall(mode: Mode, approved: boolean): boolean {
  return approved ? isLive(mode) : actsAlone(mode);
}

// A rule as loaded and checked.

/** What a rule proposes when it matches. `with` holds the action's own settings. */
export interface ActionOfRule {
  action: ActionName;
  with: { [key: string]: Fact };
}

/** What is wrong and what people do about it, as they read it. `url` is https. */
export interface RuleFix {
  problem?: string | undefined;
  text: string;
  url: string | undefined;
}

export interface Rule {
  id: string;
  title: string;
  severity: RuleSeverity;
  subject: SubjectKind;
  /** JSON Logic, checked at load. */
  when: Fact;
  then: ActionOfRule[];
  mode: Mode;
  /** Must have matched this long before it acts. */
  forMs: number;
  /** Must have cleared this long before the episode ends. */
  clearForMs: number;
  /** Least time between two attempts of one action of this rule at one target. */
  cooldownMs: number;
  /** It acts in these windows alone; a match outside of them waits. Undefined: at any time. It undoes at any time. */
  whenAllowed?: readonly ChangeWindow[] | undefined;
  /** It warns first, and acts when the deadline has passed and the notice was delivered. Undefined: it acts at once. */
  notice?: RuleNotice | undefined;
  fix?: RuleFix | undefined;
  /** It begins with a share of its subjects. Undefined: it acts on all of them. */
  rollout?: Rollout | undefined;
  /** When the last claim on a target ends, undo. */
  revert: boolean;
  /** Paths of the times that date what it reads: it undoes only after a newer report. Absent or empty: after a second reading. */
  reportTimes?: readonly string[];
  /** `perDay`: subjects that newly match within 24 hours; undefined: `PER_DAY_TIMES` what one run may take. */
  limits: { max: number; percent: number; perDay?: number | undefined };
  /** `all`: one run may act on two or more devices of one owner. */
  owners: 'one' | 'all';
  /** False: only whole runs judge it, and no look at the event log between them. */
  watch: boolean;
  /** SHA-256 of the canonical rule without its tests: changes when its meaning changes. */
  hash: string;
  /** Its file, relative to the rules folder. */
  file: string;
  /** The sources that judging it needs. */
  sources: Source[];
  /** Whose signals it counts; absent: nobody's. */
  transmitters?: readonly { name: string }[];
  /** Texts that `when` compares a field of the record with, where the field has no closed set of values. */
  compared?: readonly ComparedText[];
  /** What the guards of its set demand: the same for all rules of one. They are no part of its hash, but of that of the set. */
  guards?: Guards | undefined;
}

/** Whom it warns before it acts, how long before, and when it says so again. `print`: of this and `then`: another one is warned of anew. */
export interface RuleNotice {
  beforeMs: number;
  /** Before the deadline, the longest first. */
  remindMs: readonly number[];
  to: 'owner';
  print: string;
}

export interface ComparedText {
  path: string;
  value: string;
  /** Values that the field usually has. */
  usual: readonly string[];
}

/** A text that a rule compares with and that no subject has, while one that differs by its spelling is had. */
export interface AlmostValue {
  path: string;
  value: string;
  meant: string;
  /** How many subjects have what may be meant. Absent: no reading counted the field. */
  count?: number;
}

/** `values`: by path, how many records have each value. */
export function almostValues(
  { compared = [] }: Pick<Rule, 'compared'>,
  values: { readonly [path: string]: { readonly [value: string]: number } },
): AlmostValue[] {
  return compared.flatMap(({ path, value, usual }) => {
    const counts = Object.hasOwn(values, path) ? values[path] : undefined;
    // It may be one of those that are counted together.
    if (counts && Object.hasOwn(counts, OTHER_VALUES)) return [];
    const meant = sameButSpelling(value, counts ? Object.keys(counts) : usual);
    return meant === undefined ? [] : [{ path, value, meant, ...(counts && { count: counts[meant] as number }) }];
  });
}

/** `takenAt`: of the reading that counted, where it is not the one that is reported. */
export function almostValueText(rule: string, { path, value, meant, count }: AlmostValue, takenAt?: number): string {
  const at = takenAt === undefined ? '' : ` at ${timeText(takenAt)}`;
  const none = count === undefined ? 'is not a usual value of it' : `none ${at === '' ? 'has' : 'had'}`;
  const had = count === undefined ? '' : ` (${count} ${at === '' ? (count === 1 ? 'has' : 'have') : 'had'} it${at})`;
  return `Rule \`${rule}\` compares \`${path}\` with "${value}", which ${none}. Did you mean "${meant}"${had}?`;
}

export function rulesById(rules: readonly Rule[]): ReadonlyMap<string, Rule> {
  return new Map(rules.map((rule) => [rule.id, rule]));
}

/** Whether its verdicts rest on windows, which move on by themselves. */
export function countsEvents({ sources, transmitters = [] }: Pick<Rule, 'sources' | 'transmitters'>): boolean {
  return sources.includes('events') || transmitters.length > 0;
}

/** Below this a rule with `revert` undoes sooner than most sources report again. */
export const CLEAR_FOR_LEAST_MS = 1_800_000;

/** The rules that undo what they did too soon for a doubt about one report. */
export function hastyRules<R extends Pick<Rule, 'revert' | 'clearForMs'>>(rules: readonly R[]): R[] {
  return rules.filter(({ revert, clearForMs }) => revert && clearForMs < CLEAR_FOR_LEAST_MS);
}

/** Ids of those that warn people before they act. */
export function rulesThatWarn(rules: readonly Pick<Rule, 'id' | 'notice'>[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ id, notice }) => (notice ? [id] : [])));
}

/** The rules that warn people and do not say what is wrong, or what these can do about it. */
export function helplessRules<R extends Pick<Rule, 'notice' | 'fix'>>(rules: readonly R[]): R[] {
  return rules.filter(({ notice, fix }) => notice !== undefined && fix?.problem === undefined);
}

export const LIMITS_DEFAULT = { max: 25, percent: 5 } as const;
export const PER_DAY_TIMES = 2;
