// report: a comparison of two rule sets: in JSON's form, and from that as a document for every writer. In: the comparison. Out: plain text
// that may hold hostile names.

import { clip, NAME_MAX } from '../../../base/text.ts';
import { isoTime } from '../../../base/time.ts';
import type { ReplayDocument, ReplayRuleView, ReplaySubject } from '../../../contract/replay.ts';
import type { DifferingSubjects, RuleDifference, RuleSetDifference } from '../../../domain/replay.ts';
import { isoOrNull } from '../decision-view.ts';
import { timeCell, timeWords } from '../decision-words.ts';
import { type Block, type Document, titleOf, words } from '../document.ts';
import { asSentence, countText, plural, whoLine, whole } from '../fact-text.ts';
import { replayRuleView, replaySubjectView, unreadView, untrustedView } from '../replay/build.ts';
import { gapsWords, neverWords, unreadWords, untrustedWords } from '../replay/sections.ts';

// The comparison of two rule sets as a document: the one form that its writers read, and that other programs get as
// JSON.

export interface DifferingView {
  total: number;
  subjects: { at: string; subject: ReplaySubject }[];
}

export interface RuleDiffView {
  id: string;
  title: string;
  change: RuleDifference['change'];
  now: {
    old: { matches: number; unknown: number } | null;
    new: { matches: number; unknown: number } | null;
    added: DifferingView;
    gone: DifferingView;
  };
  overTime: { old: ReplayRuleView | null; new: ReplayRuleView | null; added: DifferingView; gone: DifferingView };
}

export interface RulesDiffDocument
  extends Pick<
    ReplayDocument,
    'from' | 'to' | 'askedFrom' | 'runs' | 'gaps' | 'untrusted' | 'notes' | 'unread' | 'neverRecorded'
  > {
  sentence: string;
  old: string;
  new: string;
  /** Of the last recorded state; null: nothing is recorded. */
  now: string | null;
  rules: RuleDiffView[];
  all: RuleSetDifference['all'];
}

/** `sets`: the two folders as they were given. */
export function rulesDiffDocument(found: RuleSetDifference, sets: { old: string; new: string }): RulesDiffDocument {
  return {
    sentence: sentenceOf(found),
    ...sets,
    now: isoOrNull(found.nowAtMs),
    from: isoTime(found.fromMs),
    to: isoTime(found.toMs),
    askedFrom: isoTime(found.askedFromMs),
    runs: found.runs,
    gaps: found.gaps.map(({ fromMs, toMs, cause, text }) => ({
      from: isoTime(fromMs),
      to: isoTime(toMs),
      cause,
      text,
    })),
    rules: found.rules.map(ruleView),
    all: found.all,
    untrusted: found.untrusted.map(untrustedView),
    notes: [...found.notes],
    unread: found.unread.map(unreadView),
    neverRecorded: found.neverRecorded.map(({ path, rules }) => ({ path, rules: [...rules] })),
  };
}

function ruleView({ id, title, change, now, overTime }: RuleDifference): RuleDiffView {
  return {
    id,
    title,
    change,
    now: {
      old: now.old ?? null,
      new: now.new ?? null,
      added: differing(now.added),
      gone: differing(now.gone),
    },
    overTime: {
      old: overTime.old ? replayRuleView(overTime.old) : null,
      new: overTime.new ? replayRuleView(overTime.new) : null,
      added: differing(overTime.added),
      gone: differing(overTime.gone),
    },
  };
}

function differing({ total, first }: DifferingSubjects): DifferingView {
  return { total, subjects: first.map((one) => ({ at: isoTime(one.atMs), subject: replaySubjectView(one) })) };
}

/** `As of 2026-11-21 19:42:00 UTC 3 subjects would be added and 38 would go; over the recorded time 5 would be added and 40 would go.` */
function sentenceOf({ rules, all, runs, nowAtMs }: RuleSetDifference): string {
  if (runs === 0 && nowAtMs === undefined) return 'Nothing is recorded, so only the texts of the rules were compared.';
  if (rules.length === 0) return 'The two rule sets do the same.';
  const count = (subjects: number) => (subjects === 0 ? 'nobody' : plural(subjects, 'subject'));
  const words = ({ added, gone }: { added: number; gone: number }) =>
    `${count(added)} would be added and ${count(gone)} would go`;
  const parts = [
    ...(nowAtMs === undefined ? [] : [`as of ${timeWords(isoTime(nowAtMs))} ${words(all.now)}`]),
    ...(runs === 0 ? ['no run is recorded in this time'] : [`over the recorded time ${words(all.overTime)}`]),
  ];
  const why = areCountedElsewhere({ rules, all }) ? ` ${BY_RULE}` : '';
  return `${asSentence(parts.join('; '))}.${why}`;
}

const BY_RULE =
  'A subject is counted once, and not where another rule affects it before and after; the figures by rule may add up to more.';

function areCountedElsewhere({ rules, all }: Pick<RuleSetDifference, 'rules' | 'all'>): boolean {
  return (['now', 'overTime'] as const).some((when) =>
    (['added', 'gone'] as const).some(
      (which) => rules.reduce((sum, rule) => sum + rule[when][which].total, 0) !== all[when][which],
    ),
  );
}

// The sections of a comparison: figures by rule, and who differs.

/** What code hosts take as one comment is a little more. */
export const COMMENT_MAX = 60_000;

/** For a terminal, and short enough for a comment on a pull request: its lists can be folded, and left out. */
export function readableDiff(found: RulesDiffDocument): Document {
  const { folds, left } = differingLists(found);
  return {
    title: `Trustward: rules in ${clip(found.new, NAME_MAX)} compared with ${clip(found.old, NAME_MAX)}`,
    sections: [
      { title: '', blocks: [words('lead', found.sentence), words('plain', ...diffSummary(found))] },
      ...(found.rules.length === 0 ? [] : [{ title: 'By rule, before → after', blocks: [figuresTable(found)] }]),
      { title: '', blocks: [{ is: 'folds', folds, left }] },
    ],
  };
}

const RULES_MAX = 40;
const LISTS_MAX = 24;
const NAMES_MAX = 20;

const CHANGES: Record<RuleDiffView['change'], string> = {
  added: 'new',
  removed: 'removed',
  changed: 'changed',
  same: 'same text; others changed what it does',
};

/** Before → after. */
function figuresTable({ rules }: RulesDiffDocument): Block {
  return {
    is: 'table',
    columns: [
      'Rule',
      'Matches now',
      'Added and gone now',
      'Acts over time',
      'Added and gone over time',
      'Most in a run',
      'Undone within 1 h',
      'Unknown',
    ],
    rows: rules
      .slice(0, RULES_MAX)
      .map(({ id, change, now, overTime }) => [
        [whole(id), CHANGES[change]],
        arrow(now.old?.matches, now.new?.matches),
        signed(now),
        arrow(overTime.old?.acts, overTime.new?.acts),
        signed(overTime),
        [arrow(overTime.old?.mostInRun, overTime.new?.mostInRun), ...limitLines(overTime.new)],
        arrow(overTime.old?.flaps, overTime.new?.flaps),
        arrow(overTime.old?.unknown, overTime.new?.unknown),
      ]),
  };
}

function limitLines(rule: RuleDiffView['overTime']['new']): string[] {
  if (!rule?.allowed || rule.mostTargets <= rule.allowed.limits) return [];
  return [`${countText(rule.mostTargets)} at once, limit ${countText(rule.allowed.limits)}`];
}

function arrow(before: number | undefined, after: number | undefined): string {
  const [one, other] = [before, after].map((count) => (count === undefined ? '—' : countText(count)));
  return one === other ? `${one}` : `${one} → ${other}`;
}

function signed({ added, gone }: { added: DifferingView; gone: DifferingView }): string {
  return added.total + gone.total === 0 ? 'none' : `+${countText(added.total)} −${countText(gone.total)}`;
}

/** Who differs, by rule: at most this many lists, of at most this many subjects each. */
function differingLists({ rules }: RulesDiffDocument): Pick<Extract<Block, { is: 'folds' }>, 'folds' | 'left'> {
  const filled = rules
    .flatMap(({ id, now, overTime }) => [
      { title: `Rule ${id}: added now`, when: 'Seen', of: now.added },
      { title: `Rule ${id}: gone now`, when: 'Seen', of: now.gone },
      { title: `Rule ${id}: added over the recorded time`, when: 'First', of: overTime.added },
      { title: `Rule ${id}: gone over the recorded time`, when: 'First', of: overTime.gone },
    ])
    .filter(({ of }) => of.subjects.length > 0);
  const folds = filled.slice(0, LISTS_MAX).map(({ title, when, of: { total, subjects } }) => {
    const rows = subjects.slice(0, NAMES_MAX).map(({ at, subject }) => [whoLine(subject), timeCell(at)]);
    const left = total > rows.length ? `and ${countText(total - rows.length)} more` : undefined;
    return {
      title: titleOf({ title, count: total }),
      blocks: [{ is: 'table', columns: ['Who', when], rows, left } as const],
    };
  });
  return { folds, left: filled.length - folds.length };
}

/** What was compared, and what stands in the way. */
function diffSummary(found: RulesDiffDocument): (string | undefined)[] {
  const { now, runs, from, to, rules, neverRecorded } = found;
  const untrusted = untrustedWords({ ...found, way: 'what_if' });
  return [
    ...(rules.length === 0 ? [] : [`${plural(rules.length, 'rule')} ${rules.length === 1 ? 'differs' : 'differ'}.`]),
    ...(now === null ? [] : [`Now: as recorded at ${timeWords(now)}.`]),
    ...(runs === 0
      ? []
      : [
          `Over the recorded time: ${plural(runs, 'run')}, ${timeWords(from)} to ${timeWords(to)}, both sets as a what-if.`,
        ]),
    untrusted,
    gapsWords(found),
    neverWords(neverRecorded, ({ path }) => clip(path, NAME_MAX)),
    ...unreadWords(found),
    ...found.notes,
  ];
}
