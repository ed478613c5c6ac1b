// report: the comparison of two rule sets as a document: the one form that its writers read, and that other programs get as JSON. In: what
// the comparison found. Out: the same with times as ISO 8601 in UTC, and null where nothing is known.
import type { DifferingSubjects, RuleDifference, RuleSetDifference } from '../../domain/rule-set-difference.ts';
import { isoTime } from '../../domain/time-text.ts';
import { asSentence, plural } from '../fact-text.ts';
import { isoOrNull } from '../iso-or-null.ts';
import { replayRuleView, replaySubjectView, unreadView, untrustedView } from '../replay/build.ts';
import type { ReplayDocument, ReplayRuleView, ReplaySubject } from '../replay/document.ts';

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

/** `Now 3 subjects would be added and 38 would go; over the recorded time 5 would be added and 40 would go.` */
function sentenceOf({ rules, all, runs, nowAtMs }: RuleSetDifference): string {
  if (runs === 0 && nowAtMs === undefined) return 'Nothing is recorded, so only the texts of the rules were compared.';
  if (rules.length === 0) return 'The two rule sets do the same.';
  const count = (subjects: number) => (subjects === 0 ? 'nobody' : plural(subjects, 'subject'));
  const words = ({ added, gone }: { added: number; gone: number }) =>
    `${count(added)} would be added and ${count(gone)} would go`;
  const parts = [
    ...(nowAtMs === undefined ? [] : [`now ${words(all.now)}`]),
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
