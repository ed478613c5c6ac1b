// domain: a rule's verdict on a subject, with its reasons; and what evaluate/ passes to decide/.
import type { ReportTimes } from './episode.ts';
import type { TrustEvent } from './event.ts';
import type { Fact, Facts } from './facts.ts';
import type { GivenTables } from './given-table.ts';
import type { Lists } from './lists.ts';
import type { LookBack } from './look-back.ts';
import type { PersonMessage } from './notice.ts';
import type { Rule } from './rule.ts';
import type { Coverage } from './snapshot.ts';
import { SOURCES, type Source, type SubjectKind, type SubjectSummary } from './subjects.ts';

export const VERDICTS = ['match', 'no_match', 'unknown', 'error'] as const;
export type VerdictName = (typeof VERDICTS)[number];

/** The smallest change of at most two facts that was found to give a rule another verdict. */
/** Stands in a flip for any text that the rule does not compare with. */
export const ANOTHER_TEXT = '(another)';

export interface Flip {
  verdict: VerdictName;
  /** `to: undefined`: the field is removed. `range`: of a time or a span, all that give that verdict; `to` is one of them. */
  changes: { fact: string; from: Fact | undefined; to: Fact | undefined; range?: AgeRange | undefined }[];
}

/** In seconds: how long ago it is, of a time, or how long, of a span. A bound that is absent is none. */
export interface AgeRange {
  of: 'time' | 'seconds';
  moreThan?: number | undefined;
  atLeast?: number | undefined;
  lessThan?: number | undefined;
  atMost?: number | undefined;
}

/** A match, with the values behind it: by path (`MdmData.CompromisedStatus`) or operator text. */
export interface Match {
  rule: string;
  summary: SubjectSummary;
  facts: { [path: string]: Fact };
  /** Absent: not wanted, not found, or beyond the budget. */
  flip?: Flip;
  /** Absent: the rule undoes nothing, or reads nothing that the platform dates. */
  reported?: ReportTimes;
  /** What the platform itself advises about the subject; of a rule that warns people. */
  advice?: PersonMessage['factors'];
}

/** Any other verdict on a subject that has an open episode or claim of that rule: decide/ must see these too. */
export interface OpenVerdict {
  rule: string;
  summary: SubjectSummary;
  verdict: Exclude<VerdictName, 'match'>;
  facts: { [path: string]: Fact };
  /** The facts that were missing, stale or of the wrong type. */
  missing: string[];
  /** As of a match; of `no_match` only. */
  flip?: Flip;
  /** As of a match. */
  reported?: ReportTimes;
}

/** What a person can do about a doubt, where its fact alone does not tell: `not_in_lists` and `stale` of the fact or of what vouches for it. */
export type DoubtWhy = 'stale' | 'not_in_lists' | 'unavailable';

export interface RuleTally {
  rule: string;
  match: number;
  no_match: number;
  unknown: number;
  error: number;
  /** The number of subjects by missing fact (or the error's text). */
  missing: { [fact: string]: number };
  /** By missing fact, each once. Absent in rows of earlier versions, and where no doubt has one. */
  whys?: { [fact: string]: DoubtWhy[] };
  /** At most 100 subjects whose verdict was unknown or error, with the reason. */
  examples: DoubtExample[];
}

/** The name, a device's serial number and its owners are absent in rows of earlier versions, and where they are not known. */
interface DoubtExample {
  subject: string;
  name?: string;
  serial?: string;
  owners?: readonly string[];
  verdict: 'unknown' | 'error';
  reason: string;
}

/** Everything that one pass over one source's records found. */
export interface Judgement {
  kind: SubjectKind;
  judged: number;
  tallies: RuleTally[];
  matches: Match[];
  open: OpenVerdict[];
  /** The number of records by fact path that a rule reads, then by value. For the trust gate. */
  values: Record<string, Record<string, number>>;
}

/** How often each value of one fact was seen in a part of a pass: all of them, in the order of first sight. */
export interface ValuePart {
  values: Fact[];
  /** By index into `values`. */
  counts: number[];
  /** Of values that are not listed. */
  other: number;
  none: number;
  zero: number;
  set: number;
}

/** What one pass over a part of a source's records found. Parts merge to the judgement of the whole, in the order of the records. */
export interface JudgementPart extends Omit<Judgement, 'values'> {
  values: Record<string, ValuePart>;
}

/** Makes one judgement of parts, each added in its turn. */
export interface JudgementMerge {
  add(part: JudgementPart): void;
  /** By rule: 1 as long as its tally lists more subjects in doubt. Shared, for those who judge the next parts. */
  readonly isExampleWanted: Uint8Array;
  finish(): Judgement;
}

/** What judging a rule set and deciding its matches need: pull/ reads nothing else. */
export interface Needs {
  /** Sources that some rule reads, subjects' own and joined ones. */
  sources: ReadonlySet<Source>;
  /**
   * Sources that must be read in the unpaged form: a rule reads a fact that only this form has, or it shows who owns
   * what the rule takes.
   */
  unpaged: ReadonlySet<'devices' | 'users'>;
  /** A rule reads `$owners` of a device: users must be read before devices. */
  owners: boolean;
  /** A rule reads `$devices` of a user: devices must be read before users. */
  devices: boolean;
  /** The longest event window of any rule, ms; 0 when no rule counts events. */
  windowMs: number;
  /** The same of windows over signals. */
  signalWindowMs: number;
}

/** How far back rules count what is stored. */
export function countedMs({ windowMs, signalWindowMs }: Pick<Needs, 'windowMs' | 'signalWindowMs'>): number {
  return Math.max(windowMs, signalWindowMs);
}

/** Records of the other kind, by key, for `$owners` and `$devices`; filled while those are read. */
export interface Joins {
  /** By lower-case e-mail. */
  users: ReadonlyMap<string, Facts>;
  /** By serial number. */
  devices: ReadonlyMap<string, Facts[]>;
}

/** The number of flips that one run looks for. */
export const FLIPS_MAX = 1_000;
/** The number of changes that one run tries for them: some tenths of a second. */
export const FLIP_TRIES_MAX = 100_000;

/** Which flips to find while judging. */
export interface WantedFlips {
  /** Whether this verdict leads to a decision, and none in force is about it already. */
  isNew(rule: string, subjectId: string, verdict: 'match' | 'no_match'): boolean;
  /** What is left; the judge takes from it. */
  budget: { flips: number; tries: number };
}

export interface JudgeContext {
  nowMs: number;
  /** What a summary's `state` keeps of the record; nothing for a caller that only needs verdicts. */
  fieldsWritten?: readonly string[];
  joins: Joins;
  /** Facts from elsewhere; absent: none were read. */
  given?: GivenTables | undefined;
  /** Stretches of time that the event log is known for; empty when events are unavailable. */
  coverage: readonly Coverage[];
  /** When the event log was last read, if that is not now: windows end then. */
  windowsAtMs?: number | undefined;
  /** Sources that answered 403: facts from them are unknown. */
  unavailable: ReadonlySet<Source>;
  /** Whether this subject has an open episode or claim of this rule: its verdict is then needed even if it is no match. */
  isOpen(rule: string, subjectId: string): boolean;
  /** Whether this subject has an open episode or claim of any rule. When given, `isOpen` is asked for these subjects only. */
  hasOpen?(subjectId: string): boolean;
  /** Absent: no flip is wanted. */
  flips?: WantedFlips;
  /** Called for each verdict that is unknown or an error; `rule`: its place in its kind; `fact`: as in a tally's `missing`. */
  onDoubt?(rule: number, record: Facts, fact: string): void;
  /** Whether a tally still lists subjects in doubt; by the rule's place in its kind. Absent: up to 100. */
  isExampleWanted?(rule: number): boolean;
}

/** One pass over one source. */
export interface Judge {
  accept(record: Facts): void;
  finish(): Judgement;
}

/** One pass over a part of one source. */
export interface PartJudge {
  accept(record: Facts): void;
  finish(): JudgementPart;
}

/** A rule set as data, from which `evaluatorOf` makes the same evaluator in another thread. */
export interface PortableRules {
  readonly rules: readonly unknown[];
  readonly lists: Lists;
}

/** A compiled rule set. Pure except for the event windows, which `observe` feeds, and for what `lookBack` knows. */
export interface Evaluator {
  readonly rules: readonly Rule[];
  readonly needs: Needs;
  /** What it knows of the past; undefined when no rule looks back. */
  readonly lookBack: LookBack | undefined;
  /** Adds events to the windows. An id that was seen already counts once. Any order. */
  observe(events: readonly TrustEvent[]): void;
  /** Moves all windows so that they end at `nowMs`; an earlier time than the last one is allowed. */
  advance(nowMs: number): void;
  /** Whether some of these rules may count the event for whom its user owns, or for whom its device belongs to: not for its own subject. */
  countsFor(joined: 'user' | 'device', event: TrustEvent, rules: ReadonlySet<string>): boolean;
  judge(kind: SubjectKind, context: JudgeContext): Judge;
  judgePart(kind: SubjectKind, context: JudgeContext): PartJudge;
  merge(kind: SubjectKind): JudgementMerge;
  portable(): PortableRules;
  /** From now on `listener` receives what is observed: another thread's windows follow these. */
  onObserved(listener: (events: readonly TrustEvent[]) => void): void;
  /** How often facts that rules read of a source of facts from elsewhere have each of their values; for the trust gate. */
  givenValues(source: string, rows: Iterable<Facts>): Record<string, Record<string, number>>;
  /** The paths of a joined record that some rule reads; only these are kept in `Joins`. */
  joinedPaths(source: 'devices' | 'users'): readonly string[];
}

// What the tests inside one rule show: their results, which conditions they cover, and which changes of the rule none
// of them notices. evaluate/ makes it, reports and the page show it.

export interface TestResult {
  name: string;
  line: number;
  expected: VerdictName;
  got: VerdictName;
  ok: boolean;
  /** Why it is not ok; else undefined. */
  message: string | undefined;
}

/** One condition other than `and`, `or`, `not` and `if`, and the values that tests saw. */
export interface AtomCoverage {
  text: string;
  seenTrue: boolean;
  seenFalse: boolean;
  /** `never`: it cannot be unknown. */
  seenUnknown: boolean | 'never';
}

/** The values that an atom was never seen to have. */
export function unseenOf(atom: AtomCoverage): string[] {
  return [
    ...(atom.seenTrue ? [] : ['true']),
    ...(atom.seenFalse ? [] : ['false']),
    ...(atom.seenUnknown === false ? ['unknown'] : []),
  ];
}

export interface RuleTestReport {
  rule: string;
  file: string;
  ok: boolean;
  tests: TestResult[];
  /** Problems of the rule's tests as a whole. */
  problems: string[];
  coverage: AtomCoverage[];
  /** How many of the values that the atoms can have were seen; 0 to 100. */
  coveredPercent: number;
  /** Only when asked for. `survivors`: changes of the rule that no test notices. */
  mutants: { tried: number; survivors: string[] } | undefined;
}

// What a person can do about a fact that was missing, so that a rule could judge.

interface MissingFact {
  /** A path (`MdmData.CompromisedStatus`), the text of an operator, or that of an error. */
  fact: string;
  /** For some of the subjects. */
  whys: readonly DoubtWhy[];
  /** Sources that the server refused (403). */
  unavailable: readonly Source[];
}

const BY_PATH: readonly (readonly [path: RegExp, text: string])[] = [
  [/^MdmData\b/, 'let the device report to the MDM, and the MDM to the platform; the next run reads it'],
  [/^TrustData\b/, 'let the device sign in once, so that the platform scores it; the next run reads it'],
  [/^(Roles|Groups)\b/, 'assign it in the platform or the identity provider; it is known after the next sign-in'],
  [
    /^(OS|AppVersion|Platform|Model|Architecture)\b/,
    'let the app on the device connect once; it then reports its version and platform',
  ],
  [/^(SerialNumber|Ownership|DeviceFriendlyName)\b/, 'let the MDM or the person who registers the device set it'],
  [
    /^(Emails|LastLogin|LoginCount)\b/,
    'let somebody sign in on the device; if all devices lack it, the device list that comes in one piece does not show it',
  ],
  [/^SerialNumbers\b/, 'let the person register a device; if all users lack it, the user list does not show it'],
  [/^(\$spec|ServiceSpec)\b/, 'open the service in the console and save it, so that its definition is valid JSON'],
  [
    /^\$facts\b/,
    'look at the source in `sources.yaml`: it must be read, fresh and trusted, and have one row of the subject with a value of its type',
  ],
  [/^\$owners\b/, 'let the owner sign in on the device, and check that the user list has the owner'],
  [/^\$devices\b/, 'let the person register a device, and check that the device list has it'],
];

const EVENT_FACT = /^(event_count|event_distinct|since_last_event)\(|^the event log$/;

const SIGNAL_FACT = /^(signal_count|since_last_signal|last_signal)\(/;

const PAST_FACT = /^(previous|changed_within|unchanged_for)\(/;

/** Errors: none; a fact that is not listed gets the way to find out more. */
export function howToGet({ fact, whys, unavailable }: MissingFact): string {
  const refused = sourcesOf(fact).filter((source) => unavailable.includes(source));
  if (refused.length > 0)
    return `the server does not offer ${refused.join(' and ')} (403): use an edition and a credential that do, or rules that do not need it`;
  if (EVENT_FACT.test(fact))
    return 'let Trustward run without a gap for as long as the window of the rule: the event log is then known throughout';
  if (SIGNAL_FACT.test(fact))
    return 'ask `trustward doctor` how the stream of the transmitter is: what it sent is known once it was heard without a gap for as long as the window of the rule';
  if (PAST_FACT.test(fact))
    return 'keep a history (TRUSTWARD_HISTORY) and let runs see the field, without a day between them, for as long as the rule looks back';
  if (whys.includes('stale'))
    return 'it is too old: let the device report again (its MDM or its app); the next run reads it';
  if (whys.includes('not_in_lists'))
    return 'set TRUSTWARD_API_LISTS=v1 if the server has the lists of version 1, or use a rule that does not need it';
  const known = BY_PATH.find(([path]) => path.test(fact));
  if (known) return known[1];
  if (whys.includes('unavailable'))
    return 'the server does not offer its source (403): use an edition and a credential that do, or a rule that does not need it';
  return 'ask `trustward explain RULE SUBJECT`: it shows what the record has, and what the rule needs';
}

/** The sources beside the subject's own that a fact is read from. */
function sourcesOf(fact: string): Source[] {
  if (EVENT_FACT.test(fact)) return ['events'];
  if (fact.startsWith('$owners')) return ['users'];
  return SOURCES.filter((source) => fact.startsWith(`$${source}`));
}
