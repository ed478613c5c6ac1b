// report: a replay as a document. In: what a replay found. Out: the same with times as ISO 8601 in UTC, and null where nothing is known.

import { isoTime } from '../../../base/time.ts';
import type { ReplayActView, ReplayDocument, ReplayRuleView, ReplaySubject } from '../../../contract/replay.ts';
import type {
  Replay,
  ReplayBucket,
  ReplayedAct,
  ReplayedDistrust,
  ReplayedRule,
  ReplayedUnread,
} from '../../../domain/replay.ts';
import { effectWords } from '../build-report.ts';
import { isoOrNull } from '../decision-view.ts';
import { timeWords } from '../decision-words.ts';
import { asSentence, countText, listed, pastOf, plural } from '../fact-text.ts';
import { grouped } from '../grouped.ts';
import { reasonWords } from '../words.ts';

// A replay in one sentence.

const ACTIONS_MAX = 3;
const RULES_MAX = 3;

type Found = Omit<ReplayDocument, 'sentence'>;

/** `Would have banned 40 devices of 31 people; at most 38 in one run, at 2026-11-03 09:15:00 UTC.` */
function sentenceOfReplay(found: Found): string {
  if (found.runs === 0) return 'No run is recorded in this time, so nothing was replayed.';
  const did = found.acts.filter(({ undo }) => !undo);
  const held = heldTargets(found.rules);
  const what = [...actsWords(did), ...(held === 0 ? [] : [`kept ${plural(held, 'target')} waiting`])];
  const would = found.way === 'what_if' ? 'would have ' : '';
  const first = what.length === 0 ? `${nothingWords(found)}` : `${would}${listed(what)}`;
  return `${asSentence([first, ...mostWords(found.rules), ...crossedWords(found.rules)].join('; '))}.`;
}

function nothingWords({ way, rules }: Found): string {
  const matched = rules.reduce((sum, { matches }) => sum + matches, 0);
  const why = matched === 0 ? 'nothing matched' : `${plural(matched, 'subject')} matched, but no action followed`;
  return way === 'what_if' ? `would have done nothing: ${why}` : `did nothing: ${why}`;
}

/** `banned 3 devices of 2 people`, `disabled 1 service`. */
function actsWords(acts: readonly ReplayActView[]): string[] {
  const all = grouped(acts, ({ action }) => action).map(actionWords);
  const more = all.length - ACTIONS_MAX;
  return more > 0 ? [...all.slice(0, ACTIONS_MAX), `did ${plural(more, 'other action')}`] : all;
}

function actionWords(acts: readonly ReplayActView[]): string {
  const { action, subject } = acts[0] as ReplayActView;
  const [verb = '', ...rest] = action.split('_');
  const subjects = new Set(acts.map((act) => act.subject.id)).size;
  const counted = `${subjectsWords(acts)}${acts.length > subjects ? ` (${countText(acts.length)} times in all)` : ''}`;
  if (rest.length === 0 || rest.join(' ') === subject.kind) return `${pastOf(verb)} ${counted}`;
  return `${pastOf(verb)} ${rest.join(' ')} for ${counted}`;
}

/** `3 devices of 2 people`, `1 service`: each counts once. */
function subjectsWords(acts: readonly ReplayActView[]): string {
  const { kind } = (acts[0] as ReplayActView).subject;
  const subjects = [...new Map(acts.map(({ subject }) => [subject.id, subject])).values()];
  const people = subjects.flatMap(({ id, owners }) => (kind === 'user' ? [id] : (owners ?? [])));
  const counts = {
    decisions: acts.length,
    devices: kind === 'device' ? subjects.length : 0,
    people: kind === 'service' ? 0 : new Set(people.map((person) => person.toLowerCase())).size,
    ownersUnknown: kind === 'device' ? subjects.filter(({ owners }) => owners === null).length : 0,
  };
  return effectWords(counts) ?? plural(subjects.length, kind);
}

function mostWords(rules: readonly ReplayRuleView[]): string[] {
  const most = rules.reduce<ReplayRuleView | undefined>(
    (found, rule) => (found && found.mostInRun >= rule.mostInRun ? found : rule),
    undefined,
  );
  if (most === undefined || most.mostInRun < 2) return [];
  const at = most.mostInRunAt === null ? '' : `, at ${timeWords(most.mostInRunAt)}`;
  const by = rules.length > 1 ? ` by rule ${most.id}` : '';
  return [`at most ${countText(most.mostInRun)} in one run${by}${at}`];
}

/** Rules of which one run had more targets than their limits allow. */
function crossedWords(rules: readonly ReplayRuleView[]): string[] {
  const crossing = rules.filter(isAboveLimit);
  const words = crossing.slice(0, RULES_MAX).map(({ id, allowed, mostTargets }) => {
    const limit = countText(allowed?.limits ?? 0);
    return `rule ${id} had ${plural(mostTargets, 'target')} at once, above its limit of ${limit}`;
  });
  const more = crossing.length - words.length;
  return [...words, ...(more > 0 ? [`so had ${plural(more, 'more rule')}`] : [])];
}

function isAboveLimit({ allowed, mostTargets }: Pick<ReplayRuleView, 'allowed' | 'mostTargets'>): boolean {
  return allowed !== null && mostTargets > allowed.limits;
}

function heldTargets(rules: readonly ReplayRuleView[]): number {
  const held = rules.flatMap((rule) => rule.held.filter(({ decision }) => decision === 'hold'));
  return held.reduce((sum, { targets }) => sum + targets, 0);
}

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
    avoided: act.isAvoided ?? false,
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
  const { mostInRunAtMs, mostInDayAtMs, allowed, lasted, held, notice, ...rest } = rule;
  return {
    ...rest,
    mostInRunAt: isoOrNull(mostInRunAtMs),
    mostInDayAt: isoOrNull(mostInDayAtMs),
    allowed: allowed ?? null,
    lasted: lasted ?? null,
    notice: notice ? { ...notice, avoided: notice.avoided ?? null } : null,
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
