// report: what a replay found, as a document for every writer: its way, its figures, what stands in the way of reading too much into it, its
// tables. In: a replay in JSON's form. Out: plain text that may hold hostile names.

import { clip, NAME_MAX } from '../../../base/text.ts';
import { formatDuration, spanText } from '../../../base/time.ts';
import type {
  ReplayActView,
  ReplayBucketView,
  ReplayDocument,
  ReplayHeldView,
  ReplayRuleView,
  ReplaySubject,
} from '../../../contract/replay.ts';
import { LIFTED_BY_TIME } from '../../../domain/decision.ts';
import type { GapCause } from '../../../domain/recorded-history.ts';
import { type CsvColumns, csvPieces } from '../csv.ts';
import { timeCell, timeWords } from '../decision-words.ts';
import {
  type Block,
  capped,
  type Document,
  type DocumentColumn,
  rulePath,
  type Section,
  subjectPath,
  words,
} from '../document.ts';
import {
  andMore,
  asSentence,
  type Cell,
  type CellLine,
  countText,
  joinedLine,
  linked,
  plural,
  shownAs,
  whoLine,
  whoLines,
  whole,
} from '../fact-text.ts';
import { chart } from '../words.ts';

export function replayHeadline({ way, from, to }: Pick<ReplayDocument, 'way' | 'from' | 'to'>): string {
  return `Trustward: replay ${way === 'as_was' ? 'as it was' : 'what if'}, ${timeWords(from)} to ${timeWords(to)}`;
}

/** What the way means, in one sentence or two: it stands above everything that was found. */
export function wayWords({ way, rulesDir }: Pick<ReplayDocument, 'way' | 'rulesDir'>): string {
  if (way === 'as_was')
    return 'As it was: the rules that were active then, over what the runs saw, with the outcomes that calls had. Nothing is sent or kept.';
  const rules = rulesDir === null ? 'these rules' : `the rules in \`${clip(rulesDir, NAME_MAX)}\``;
  return `What if: ${rules}, each as if its mode were enforce, over what the runs saw. Actions take effect in a model of the platform, and what the runs saw people do stays. Nothing is sent or kept.`;
}

/** Sentences of one paragraph. */
export function replaySummary(replay: ReplayDocument): string[] {
  const never = neverWords(
    replay.neverRecorded,
    ({ path, rules }) => `${clip(path, NAME_MAX)} (rule ${rules.join(', ')})`,
  );
  return [
    ...runsWords(replay),
    ...whatFollowed(replay),
    ...unknownWords(replay),
    ...(never === undefined ? [] : [never]),
    ...unreadWords(replay),
    ...replay.notes,
  ];
}

function runsWords(replay: ReplayDocument): string[] {
  const { runs, wholeRuns, from, to, askedFrom, recorded } = replay;
  if (runs === 0)
    return recorded === null ? [] : [`The history goes from ${timeWords(recorded.from)} to ${timeWords(recorded.to)}.`];
  const looks = runs - wholeRuns;
  const of = looks === 0 ? '' : `, ${countText(looks)} of them over a few subjects after new events`;
  const later = Date.parse(from) - Date.parse(askedFrom);
  const begin =
    later > 24 * 3_600_000 ? ` The record begins ${spanText(later)} after the time that was asked for.` : '';
  const over = spanText(Date.parse(to) - Date.parse(from));
  return [`It replayed ${plural(runs, 'run')}${of}, over ${over}.${everyWords(replay)}${begin}`];
}

/** How many were decided, when not all had to be. */
function everyWords({ runs, decidedRuns, everyMs }: ReplayDocument): string {
  if (everyMs === null) return '';
  const every = formatDuration(everyMs);
  if (decidedRuns === runs) return ` It decided each of them: no two began in the same ${every}.`;
  return ` It decided ${countText(decidedRuns)} of them: the first whole run of each ${every}.`;
}

/** Undone soon, done by a person anyway, taken back by a person. */
function whatFollowed({ rules, way }: ReplayDocument): string[] {
  const sum = (of: (rule: ReplayRuleView) => number) => rules.reduce((total, rule) => total + of(rule), 0);
  const [flaps, did, undid] = [
    sum(({ flaps: one }) => one),
    sum(({ personDid }) => personDid),
    sum(({ personUndid }) => personUndid),
  ];
  const would = way === 'what_if' ? 'would have been' : flaps === 1 ? 'was' : 'were';
  return [
    ...(flaps === 0 ? [] : [`${countText(flaps)} ${would} undone within the hour.`]),
    ...(did === 0 ? [] : [`A person did the same to ${countText(did)} of the targets.`]),
    ...(undid === 0 ? [] : [`A person took ${countText(undid)} back.`]),
    ...rules.flatMap(noticeWords),
  ];
}

function noticeWords({ id, acts, notice }: ReplayRuleView): string[] {
  if (notice === null || notice.warned + notice.undelivered === 0) return [];
  const { warned, mended, avoided, undelivered } = notice;
  return [
    `Rule ${id} warned of ${plural(warned, 'match', 'matches')}: ${countText(mended)} ${mended === 1 ? 'was' : 'were'} over before the deadline by the record${avoided === null ? '' : `, and ${countText(avoided)} of ${plural(acts, 'action')} would have been avoided by what is assumed`}.`,
    ...(undelivered === 0
      ? []
      : [`Of ${plural(undelivered, 'target')} somebody could not be warned, so a person decides.`]),
  ];
}

function unknownWords({ rules }: ReplayDocument): string[] {
  const unknown = rules.filter((rule) => rule.unknown > 0);
  if (unknown.length === 0) return [];
  const most = unknown.reduce((found, rule) => (rule.unknown > found.unknown ? rule : found));
  const of = unknown.length === 1 ? '' : ' by one rule';
  return [`Up to ${plural(most.unknown, 'subject')}${of} could not be judged at some time: a fact was missing.`];
}

const NEVER_SHOWN = 5;

/** Undefined: each fact that is needed was recorded. */
export function neverWords<One>(never: readonly One[], nameOf: (one: One) => string): string | undefined {
  if (never.length === 0) return undefined;
  const named = never.slice(0, NEVER_SHOWN).map(nameOf);
  return `NEVER RECORDED, so unknown all the time: ${named.join(', ')}${andMore(never.length - named.length)}.`;
}

/** Why, and what to do. */
export function unreadWords({ unread }: Pick<ReplayDocument, 'unread'>): string[] {
  return unread.map(({ text }) => `${asSentence(text)}.`);
}

/** What is not in the record; undefined without gaps. */
export function gapsWords({
  gaps,
  from,
  askedFrom,
  to,
}: Pick<ReplayDocument, 'gaps' | 'from' | 'askedFrom' | 'to'>): string | undefined {
  const forgotten = gaps.filter(({ cause }) => cause === 'forgotten').length;
  const words: string[] = [];
  if (forgotten < gaps.length) {
    const missing = missingMs(gaps.filter(({ cause }) => cause !== 'forgotten'));
    const all = Date.parse(to) - Math.min(Date.parse(from), Date.parse(askedFrom));
    words.push(
      `${plural(gaps.length - forgotten, 'gap')}, ${spanText(missing)} of ${spanText(Math.max(all, missing))}: what happened then is unknown, and is not counted here.`,
    );
  }
  if (forgotten > 0)
    words.push(
      `An operator removed the records of ${plural(forgotten, 'subject')}: what was so of ${forgotten === 1 ? 'it' : 'them'} is not known.`,
    );
  return words.length === 0 ? undefined : words.join(' ');
}

/** Lists that were not trusted, or would not have been; undefined: all were. */
export function untrustedWords({ untrusted, way }: Pick<ReplayDocument, 'untrusted' | 'way'>): string | undefined {
  if (untrusted.length === 0) return undefined;
  const [was, done] =
    way === 'as_was' ? ['was not', 'was done'] : ['would not have been', 'would have been done without a person'];
  const shown = untrusted.slice(0, UNTRUSTED_SHOWN).map(({ source, text, from, to, runs }) => {
    const when =
      runs === 1
        ? `in one run, ${timeWords(from)}`
        : `in ${countText(runs)} runs, ${timeWords(from)} to ${timeWords(to)}`;
    return `The list of ${source} ${was} trusted ${when} (${text}).`;
  });
  const more = untrusted.length - shown.length;
  const rest = more > 0 ? ` So ${more === 1 ? 'it was once' : `it was ${countText(more)} times`} more.` : '';
  return `${shown.join(' ')}${rest} Nothing ${done} by it then.`;
}

const UNTRUSTED_SHOWN = 3;

/** Each moment counts once. */
function missingMs(gaps: ReplayDocument['gaps']): number {
  let [missing, doneMs] = [0, Number.NEGATIVE_INFINITY];
  const times = gaps.map((gap) => ({ fromMs: Date.parse(gap.from), toMs: Date.parse(gap.to) }));
  for (const { fromMs, toMs } of times.sort((one, other) => one.fromMs - other.fromMs)) {
    missing += Math.max(0, toMs - Math.max(fromMs, doneMs));
    doneMs = Math.max(doneMs, toMs);
  }
  return missing;
}

/** Whether the replay made the decisions that the runs made. Undefined for a what-if, which is not compared. */
export function differencesWords({ way, differences, runs, decidedRuns }: ReplayDocument): string | undefined {
  if (way !== 'as_was' || runs === 0) return undefined;
  const unexplained = differences.filter(({ explained }) => !explained).length;
  if (differences.length === 0)
    return decidedRuns < runs
      ? 'Every decision of those is as the run made it.'
      : 'Every decision is as the runs made it.';
  const differ = `${plural(differences.length, 'decision')} ${differences.length === 1 ? 'differs' : 'differ'} from what the runs decided`;
  if (unexplained === 0) return `${differ}, each for a reason in the record.`;
  return `${differ}. Nothing in the record explains ${countText(unexplained)} of them: that is a fault of Trustward.`;
}

/** How long it lasted, and what a person did. */
function followedLines(act: ReplayActView): string[] {
  const { undo, lastedMs, isOver, personDidAt, personUndidAt, avoided } = act;
  if (undo) return ['undoes an earlier one'];
  return [
    ...(lastedMs === null ? [] : [isOver ? `lasted ${spanText(lastedMs)}` : `${spanText(lastedMs)} so far`]),
    ...(personDidAt === null ? [] : [`a person did the same ${timeCell(personDidAt)}`]),
    ...(personUndidAt === null ? [] : [`a person took it back ${timeCell(personUndidAt)}`]),
    ...(avoided ? ['avoided by the warning, as assumed'] : []),
  ];
}

/** `38 (allowed 25)`, with when on a line of its own. */
function mostLines(count: number, allowed: number | undefined, at: string | null): CellLine[] {
  if (count === 0) return ['0'];
  return [
    `${countText(count)}${allowed === undefined ? '' : ` of ${countText(allowed)}`}`,
    ...(at === null ? [] : [timeCell(at)]),
  ];
}

/** What its actions are allowed in one run: the least of its limits and of their ceilings. */
export function allowedInRun({ allowed }: ReplayRuleView): number | undefined {
  return allowed === null ? undefined : Math.min(allowed.limits, allowed.run);
}

function lastedWords({ lasted }: ReplayRuleView): string {
  if (lasted === null) return '';
  const [median, longest] = [spanText(lasted.medianMs), spanText(lasted.longestMs)];
  return median === longest ? median : `half up to ${median}, longest ${longest}`;
}

function missingLines({ missing }: ReplayRuleView): CellLine[] {
  const sorted = Object.entries(missing).sort(([, one], [, other]) => other - one);
  const lines = sorted.map(([fact, count]) => joinedLine([whole(fact), `(${countText(count)})`], ' '));
  return capped(lines, lines.length, NAMES_MAX);
}

// The sections of a replay: by rule, what was done, what was held, what could not be judged, gaps, differences.

const ROWS_MAX = { text: 50, md: 40 } as const;

/** For a terminal, or for a ticket. */
export function readableReplay(replay: ReplayDocument, medium: keyof typeof ROWS_MAX): Document {
  return {
    title: replayHeadline(replay),
    note: wayWords(replay),
    sections: [
      { title: '', blocks: replayHead(replay) },
      ...overTimeSection(replay),
      ...replayTables(replay, ROWS_MAX[medium]),
    ],
  };
}

/** What was found, in words, and what stands in the way of reading too much into it. */
export function replayHead(replay: ReplayDocument): Block[] {
  const isWrong = replay.differences.some(({ explained }) => !explained);
  return [
    words('lead', replay.sentence),
    words('quiet', ...replaySummary(replay)),
    words(isWrong ? 'bad' : 'good', differencesWords(replay)),
    words('wait', untrustedWords(replay)),
    words('wait', gapsWords(replay)),
  ];
}

const NAMES_MAX = 5;
const number = (head: string) => ({ head, isNumber: true }) as const;
const ruleCell = (rule: string) => shownAs('term', rule, rulePath(rule));

/** Those that have rows, the most important first. `rowsMax`: of each. */
export function replayTables(replay: ReplayDocument, rowsMax: number): Section[] {
  return [
    rulesTable(replay),
    differencesTable(replay),
    actsTable(replay),
    heldTable(replay),
    unknownTable(replay),
    gapsTable(replay),
  ]
    .filter(({ rows }) => rows.length > 0)
    .map(({ id, title, columns, rows }) => {
      const left = rows.length - rowsMax;
      return {
        id: `replay-${id}`,
        title,
        blocks: [
          {
            is: 'table',
            columns,
            rows: rows.slice(0, rowsMax).map((row) => row()),
            left: left > 0 ? `and ${countText(left)} more: the JSON form has them all` : undefined,
          },
        ],
      };
    });
}

/** Rows are made when they are shown: a replay may have any number. */
interface ReplayTable {
  id: string;
  title: string;
  columns: readonly DocumentColumn[];
  rows: readonly (() => Cell[])[];
}

function rulesTable({ rules }: ReplayDocument): ReplayTable {
  const isWarning = rules.some(({ notice }) => notice !== null);
  return {
    id: 'rules',
    title: 'By rule',
    columns: [
      'Rule',
      number('Matched'),
      number('Acted'),
      'Most in a run',
      'Most in 24 h',
      number('Undone within 1 h'),
      'Lasted',
      'People',
      ...(isWarning ? ['Avoided by warning'] : []),
      number('Unknown'),
    ],
    rows: rules.map((rule) => () => [
      [ruleCell(rule.id), rule.title],
      countText(rule.matches),
      countText(rule.acts),
      [...mostLines(rule.mostInRun, allowedInRun(rule), rule.mostInRunAt), ...targetLines(rule)],
      mostLines(rule.mostInDay, rule.allowed?.day, rule.mostInDayAt),
      countText(rule.flaps),
      lastedWords(rule),
      peopleLines(rule),
      ...(isWarning ? [warnedLines(rule)] : []),
      countText(rule.unknown),
    ]),
  };
}

/** Where more were asked for than were done. */
function targetLines({ mostTargets, mostInRun, allowed }: ReplayRuleView): string[] {
  if (mostTargets <= mostInRun) return [];
  return [
    `${countText(mostTargets)} at once${allowed && mostTargets > allowed.limits ? `, limit ${countText(allowed.limits)}` : ''}`,
  ];
}

function peopleLines({ personDid, personUndid }: ReplayRuleView): string[] {
  return [
    ...(personDid === 0 ? [] : [`${countText(personDid)} done anyway`]),
    ...(personUndid === 0 ? [] : [`${countText(personUndid)} taken back`]),
  ];
}

/** By what is assumed of people, then what the record shows. */
function warnedLines({ acts, notice }: ReplayRuleView): string[] {
  if (notice === null) return [];
  const { warned, mended, avoided, undelivered } = notice;
  return [
    ...(avoided === null || acts === 0 ? [] : [`${countText(avoided)} of ${countText(acts)}, as assumed`]),
    `${countText(mended)} of ${countText(warned)} over in time, by the record`,
    ...(undelivered === 0 ? [] : [`${countText(undelivered)} not delivered`]),
  ];
}

/** Without undos, whose actions say how long they lasted; but with those of actions from before the replay. */
function actsTable({ acts, way, rules }: ReplayDocument): ReplayTable {
  const done = new Set<string>();
  const shown = acts.filter(({ undo, rule, target }) => {
    if (!undo) done.add(`${rule} ${target}`);
    return !undo || !done.has(`${rule} ${target}`);
  });
  const isOne = rules.length === 1 && new Set(shown.map(({ action }) => action)).size <= 1;
  const by = isOne && shown[0] ? `: ${shown[0].action}` : '';
  return {
    id: 'acts',
    title: `${way === 'what_if' ? 'What it would have done' : 'What was done'}${by}`,
    columns: ['When', ...(isOne ? [] : ['Rule and action']), 'Who', 'Target', 'What followed'],
    rows: shown.map((act) => () => [
      timeCell(act.at),
      ...(isOne ? [] : [[ruleCell(act.rule), act.action]]),
      nameLines(act.subject, act.target),
      act.target === act.subject.id ? '' : whole(act.target),
      followedLines(act),
    ]),
  };
}

/** The target stands beside it: an id is shown only where there is no name. The first line leads to the page of the subject. */
function nameLines(subject: ReplaySubject, target: string): CellLine[] {
  const isNamed = subject.name !== '' && subject.name !== subject.id;
  const lines = whoLines(subject);
  const [first = '', ...more] = isNamed && target !== subject.id ? lines.slice(0, -1) : lines;
  return [linked(first, subjectPath(subject.kind, subject.id)), ...more];
}

/** A row for each target that is known, or for the whole reason when none is. */
function heldTable({ rules, way }: ReplayDocument): ReplayTable {
  return {
    id: 'held',
    title: way === 'what_if' ? 'What would have waited or been skipped' : 'What waited or was skipped',
    columns: ['Rule', 'Reason', number('Targets'), 'Who, the first ones'],
    rows: rules.flatMap((rule) =>
      rule.held.map((held) => () => [
        ruleCell(rule.id),
        `${LIFTED_BY_TIME.has(held.reason) ? 'waits' : held.decision}: ${held.reasonText}`,
        countText(held.targets),
        exampleLines(held),
      ]),
    ),
  };
}

function exampleLines({ examples, targets }: ReplayHeldView): CellLine[] {
  const lines = examples.map(({ subject }) => whoLine(subject));
  return lines.length === 0 ? [] : capped(lines, targets, NAMES_MAX);
}

function unknownTable({ rules }: ReplayDocument): ReplayTable {
  const unknown = rules.filter((rule) => rule.unknown > 0);
  return {
    id: 'unknown',
    title: 'What could not be judged',
    columns: ['Rule', number('Subjects'), 'Missing facts'],
    rows: unknown.map((rule) => () => [ruleCell(rule.id), countText(rule.unknown), missingLines(rule)]),
  };
}

const CAUSES: Record<GapCause, string> = {
  not_recorded: 'not recorded',
  damaged: 'damaged',
  foreign: 'not of Trustward',
  version: 'another version',
  forgotten: 'a person forgotten',
};

function gapsTable({ gaps }: ReplayDocument): ReplayTable {
  return {
    id: 'gaps',
    title: 'What is not in the record',
    columns: ['From', 'To', 'Length', 'Cause', 'Which'],
    rows: gaps.map(({ from, to, cause, text: which }) => () => [
      timeCell(from),
      timeCell(to),
      spanText(Date.parse(to) - Date.parse(from)),
      CAUSES[cause],
      which,
    ]),
  };
}

/** Those that nothing explains come first. */
function differencesTable({ differences }: ReplayDocument): ReplayTable {
  const all = [...differences].sort((one, other) => Number(one.explained) - Number(other.explained));
  return {
    id: 'differences',
    title: 'Otherwise than the runs decided',
    columns: ['When', 'Rule', 'Target', 'The run', 'The replay', 'Reason'],
    rows: all.map(({ at, run, rule, target, was, is, explained, reason }) => () => [
      [timeCell(at), `run ${run}`],
      ruleCell(rule),
      whole(target),
      was ?? 'nothing',
      is ?? 'nothing',
      [...(explained ? [] : ['UNEXPLAINED']), reason],
    ]),
  };
}

// Matches over the replayed time as a line of signs, for text.

const SIGNS_MAX = 40;
const RULES_MAX = 20;

/** The same stretches, fewer: the most that matched, and all that was done. */
export function mergedBuckets(buckets: readonly ReplayBucketView[], most: number): ReplayBucketView[] {
  const size = Math.max(1, Math.ceil(buckets.length / most));
  const merged: ReplayBucketView[] = [];
  for (let at = 0; at < buckets.length; at += size) merged.push(oneOf(buckets.slice(at, at + size)));
  return merged;
}

function oneOf(buckets: readonly ReplayBucketView[]): ReplayBucketView {
  const [first, last] = [buckets[0] as ReplayBucketView, buckets.at(-1) as ReplayBucketView];
  const rules: ReplayBucketView['rules'] = {};
  for (const bucket of buckets)
    for (const [id, one] of Object.entries(bucket.rules)) {
      const sum = rules[id] ?? { matches: 0, acts: 0, undos: 0, unknown: 0 };
      rules[id] = {
        matches: Math.max(sum.matches, one.matches),
        acts: sum.acts + one.acts,
        undos: sum.undos + one.undos,
        unknown: Math.max(sum.unknown, one.unknown),
      };
    }
  const runs = buckets.reduce((sum, bucket) => sum + bucket.runs, 0);
  return { from: first.from, to: last.to, runs, rules };
}

/** A sign for each stretch; `·` where no run is recorded. */
function overTimeSection({ rules, buckets }: ReplayDocument): Section[] {
  const merged = mergedBuckets(buckets, SIGNS_MAX);
  const matched = merged.length < 2 ? [] : rules.filter((rule) => rule.matches > 0).slice(0, RULES_MAX);
  if (matched.length === 0) return [];
  const rows = matched.map(({ id }) => {
    const counts = merged.map((bucket) => bucket.rules[id]?.matches ?? 0);
    const signs = [...chart(counts)].map((sign, at) => (merged[at]?.runs === 0 ? '·' : sign)).join('');
    const seen = counts.filter((_, at) => merged[at]?.runs !== 0);
    const range = `${countText(Math.min(...seen))} to ${countText(Math.max(...seen))}, last ${countText(seen.at(-1) ?? 0)}`;
    return [ruleCell(id), whole(signs), whole(range)];
  });
  return [
    { title: 'Matches over time', blocks: [{ is: 'table', columns: ['Rule', 'Oldest first', 'Matches'], rows }] },
  ];
}

const COLUMNS: CsvColumns<ReplayActView> = {
  at: ({ at }) => at,
  run: ({ run }) => run,
  rule: ({ rule }) => rule,
  subject_kind: ({ subject }) => subject.kind,
  subject_id: ({ subject }) => subject.id,
  subject_name: ({ subject }) => subject.name,
  owners: ({ subject }) => subject.owners?.join('; ') ?? null,
  action: ({ action }) => action,
  target: ({ target }) => target,
  undo: ({ undo }) => (undo ? 'yes' : 'no'),
  lasted_seconds: ({ lastedMs }) => (lastedMs === null ? null : Math.round(lastedMs / 1_000)),
  over: ({ undo, isOver }) => (undo ? null : isOver ? 'yes' : 'no'),
  person_did_at: ({ personDidAt }) => personDidAt,
  person_undid_at: ({ personUndidAt }) => personUndidAt,
  avoided_by_warning: ({ undo, avoided }) => (undo ? null : avoided ? 'yes' : 'no'),
};

export function replayCsv({ acts }: Pick<ReplayDocument, 'acts'>): string {
  return [...csvPieces(COLUMNS, acts)].join('');
}
