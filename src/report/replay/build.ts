// report: a replay as a document. In: what a replay found. Out: the same with times as ISO 8601 in UTC, and null where nothing is known.
import type {
  Replay,
  ReplayBucket,
  ReplayedAct,
  ReplayedDistrust,
  ReplayedRule,
  ReplayedUnread,
} from '../../domain/replay.ts';
import { isoTime } from '../../domain/time-text.ts';
import { isoOrNull } from '../iso-or-null.ts';
import { reasonWords } from '../words.ts';
import type { ReplayActView, ReplayDocument, ReplayRuleView, ReplaySubject } from './document.ts';
import { sentenceOfReplay } from './sentence.ts';

/** `rulesDir`: the folder of a what-if's rules. `span`: of the whole history. */
export function replayDocument(
  replay: Replay,
  rulesDir: string | null = null,
  span?: { fromMs: number; toMs: number },
): ReplayDocument {
  const { way, everyMs, runs, wholeRuns, decidedRuns, neverRecorded } = replay;
  const found = {
    way,
    rulesDir,
    from: isoTime(replay.fromMs),
    to: isoTime(replay.toMs),
    askedFrom: isoTime(replay.askedFromMs),
    recorded: span ? { from: isoTime(span.fromMs), to: isoTime(span.toMs) } : null,
    everyMs: everyMs ?? null,
    runs,
    wholeRuns,
    decidedRuns,
    gaps: replay.gaps.map(({ fromMs, toMs, cause, text }) => ({
      from: isoTime(fromMs),
      to: isoTime(toMs),
      cause,
      text,
    })),
    rules: replay.rules.map(replayRuleView),
    acts: replay.acts.map(actView),
    differences: replay.differences.map(({ atMs, runSeq, rule, target, was, is, reason, isExplained }) => ({
      at: isoTime(atMs),
      run: runSeq,
      rule,
      target,
      was: was ?? null,
      is: is ?? null,
      reason,
      explained: isExplained,
    })),
    untrusted: replay.untrusted.map(untrustedView),
    notes: replay.notes,
    unread: replay.unread.map(unreadView),
    neverRecorded,
    buckets: filled(replay.buckets).map(({ fromMs, toMs, runs: inIt, rules }) => ({
      from: isoTime(fromMs),
      to: isoTime(toMs),
      runs: inIt,
      rules,
    })),
  };
  return { sentence: sentenceOfReplay(found), ...found };
}

export function untrustedView({ fromMs, toMs, ...rest }: ReplayedDistrust): ReplayDocument['untrusted'][number] {
  return { ...rest, from: isoTime(fromMs), to: isoTime(toMs) };
}

export function unreadView({ fromMs, toMs, ...rest }: ReplayedUnread): ReplayDocument['unread'][number] {
  return { ...rest, from: isoTime(fromMs), to: isoTime(toMs) };
}

const BUCKETS_MAX = 10_000;

/** Stretches without a run are stretches, too: nothing is drawn across them. */
function filled(buckets: readonly ReplayBucket[]): ReplayBucket[] {
  const all: ReplayBucket[] = [];
  for (const bucket of buckets) {
    const step = bucket.toMs - bucket.fromMs;
    let last = all.at(-1);
    while (last && last.toMs + step <= bucket.fromMs && all.length < BUCKETS_MAX) {
      last = { fromMs: last.toMs, toMs: last.toMs + step, runs: 0, rules: {} };
      all.push(last);
    }
    all.push(bucket);
  }
  return all;
}

function actView(act: ReplayedAct): ReplayActView {
  const { atMs, runSeq, rule, action, target, undo, lastedMs, isOver, personDidAtMs, personUndidAtMs } = act;
  return {
    at: isoTime(atMs),
    run: runSeq,
    rule,
    subject: replaySubjectView(act),
    action,
    target,
    undo,
    lastedMs: lastedMs ?? null,
    isOver,
    personDidAt: isoOrNull(personDidAtMs),
    personUndidAt: isoOrNull(personUndidAtMs),
  };
}

export function replaySubjectView({
  subject,
  subjectName,
  owners,
}: Pick<ReplayedAct, 'subject' | 'subjectName' | 'owners'>): ReplaySubject {
  return { kind: subject.kind, id: subject.id, name: subjectName, owners: owners === undefined ? null : [...owners] };
}

export function replayRuleView(rule: ReplayedRule): ReplayRuleView {
  const { mostInRunAtMs, mostInDayAtMs, allowed, lasted, held, ...rest } = rule;
  return {
    ...rest,
    mostInRunAt: isoOrNull(mostInRunAtMs),
    mostInDayAt: isoOrNull(mostInDayAtMs),
    allowed: allowed ?? null,
    lasted: lasted ?? null,
    held: held.map(({ decision, reason, targets, examples }) => ({
      decision,
      reason,
      reasonText: reasonWords(reason),
      targets,
      examples: (examples ?? []).map((one) => ({
        at: isoTime(one.atMs),
        subject: replaySubjectView(one),
        action: one.action,
        target: one.target,
        reasonText: one.reasonText,
      })),
    })),
  };
}
