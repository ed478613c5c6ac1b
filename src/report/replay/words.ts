// report: what a replay found, in words for all its writers: its way, its figures, what stands in the way of reading too much into it. In:
// a replay as a document. Out: plain text that may hold hostile names: each writer escapes it.
import { spanText } from '../../domain/age-text.ts';
import { clip, NAME_MAX } from '../../domain/clip.ts';
import { formatDuration } from '../../domain/duration.ts';
import { asSentence, countText, plural } from '../fact-text.ts';
import { type CellLine, joinedLine, whole } from '../marked.ts';
import { timeCell, timeWords } from '../time-words.ts';
import type { ReplayActView, ReplayDifferenceView, ReplayDocument, ReplayRuleView } from './document.ts';

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
  return [
    ...runsWords(replay),
    ...whatFollowed(replay),
    ...unknownWords(replay),
    ...neverWords(replay),
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
  ];
}

function unknownWords({ rules }: ReplayDocument): string[] {
  const unknown = rules.filter((rule) => rule.unknown > 0);
  if (unknown.length === 0) return [];
  const most = unknown.reduce((found, rule) => (rule.unknown > found.unknown ? rule : found));
  const of = unknown.length === 1 ? '' : ' by one rule';
  return [`Up to ${plural(most.unknown, 'subject')}${of} could not be judged at some time: a fact was missing.`];
}

function neverWords({ neverRecorded }: ReplayDocument): string[] {
  if (neverRecorded.length === 0) return [];
  const named = neverRecorded
    .slice(0, 5)
    .map(({ path, rules }) => `${clip(path, NAME_MAX)} (rule ${rules.join(', ')})`);
  const more = neverRecorded.length - named.length;
  const rest = more > 0 ? ` and ${countText(more)} more` : '';
  return [`NEVER RECORDED, so unknown all the time: ${named.join(', ')}${rest}.`];
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
      `${plural(gaps.length - forgotten, 'gap')}, ${spanText(missing)} of ${spanText(Math.max(all, missing))}: what happened then is not known, and nothing here counts it.`,
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

/** `rule x: hold limits`, or nothing. */
export function differenceWords({ was, is }: ReplayDifferenceView): { was: string; is: string } {
  return { was: was ?? 'nothing', is: is ?? 'nothing' };
}

/** How long it lasted, and what a person did. */
export function followedLines(act: ReplayActView): string[] {
  const { undo, lastedMs, isOver, personDidAt, personUndidAt } = act;
  if (undo) return ['undoes an earlier one'];
  return [
    ...(lastedMs === null ? [] : [isOver ? `lasted ${spanText(lastedMs)}` : `${spanText(lastedMs)} so far`]),
    ...(personDidAt === null ? [] : [`a person did the same ${timeCell(personDidAt)}`]),
    ...(personUndidAt === null ? [] : [`a person took it back ${timeCell(personUndidAt)}`]),
  ];
}

/** `38 (allowed 25)`, with when on a line of its own. */
export function mostLines(count: number, allowed: number | undefined, at: string | null): CellLine[] {
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

export function lastedWords({ lasted }: ReplayRuleView): string {
  if (lasted === null) return '';
  const [median, longest] = [spanText(lasted.medianMs), spanText(lasted.longestMs)];
  return median === longest ? median : `half up to ${median}, longest ${longest}`;
}

export function missingLines({ missing }: ReplayRuleView): CellLine[] {
  const sorted = Object.entries(missing).sort(([, one], [, other]) => other - one);
  const shown = sorted.slice(0, 5).map(([fact, count]) => joinedLine([whole(fact), `(${countText(count)})`], ' '));
  const more = sorted.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${countText(more)} more`] : [])];
}
