// report: the figures of a report in words, bars and small charts, for Markdown and terminal alike. In: a report. Out: plain text that may
// hold hostile names: each writer escapes it. No bar or chart stands alone: its numbers are beside it.
import { clip, NAME_MAX, shownName } from '../domain/clip.ts';
import { isLive, leastMode } from '../domain/mode.ts';
import { isOfLook } from '../domain/run.ts';
import { countEffect, effectWords } from './effects.ts';
import { countText, plural } from './fact-text.ts';
import type { ReportCeiling, ReportGone, ReportLimit, ReportTrend } from './figures.ts';
import type { Report, RunDecision } from './report.ts';
import { timeWords } from './time-words.ts';

const GONE_MAX = 5;

/** The figures in one sentence, then one line for each of some that are gone. Undefined: nothing could be compared. */
export function changeWords({ run, snapshot, changes }: Report): { sentence: string; gone: string[] } | undefined {
  if (run.whatIf || isOfLook(run) || snapshot.id === null) return undefined;
  const { since, gone, goneExamples } = changes;
  if (since === null) {
    const kind = isLive(leastMode(run.mode, run.daemonMode)) ? 'live' : 'dry';
    return { sentence: `There is no earlier completed ${kind} run over all rules to compare with.`, gone: [] };
  }
  const isSame = changes.new + changes.changed + gone === 0;
  const figures = [
    ...(isSame
      ? ['nothing changed']
      : [`${countText(changes.new)} new`, `${countText(changes.changed)} changed`, `${countText(gone)} gone`]),
    `${countText(changes.still)} as before`,
  ];
  const shown = goneExamples.slice(0, GONE_MAX).map(goneLine);
  const more = gone - shown.length;
  return {
    sentence: `Since run ${since.seq} (${timeWords(since.at)}): ${figures.join(', ')}.`,
    gone: [...shown, ...(more > 0 ? [`and ${countText(more)} more: the JSON report has up to 100`] : [])],
  };
}

function goneLine({ rule, subject, action, target, why }: ReportGone): string {
  const name = subject.name === '' || subject.name === subject.id ? '' : `${shownName(subject.name)}, `;
  return `gone: ${action} of ${name}${clip(target, NAME_MAX)} by rule ${rule}${why === null ? '' : `: ${why}`}`;
}

/** `3 devices of 2 people; 1 new, 2 as before.` Empty: nothing to add to their number. */
export function groupWords(decisions: readonly RunDecision[], { changes }: Pick<Report, 'changes'>): string {
  const effect = effectWords(countEffect(decisions));
  const count = (change: RunDecision['change']) => decisions.filter((one) => one.change === change).length;
  const figures = [
    [count('new'), 'new'],
    [count('changed'), 'changed'],
    [count('still'), 'as before'],
  ] as const;
  const changed = figures.filter(([number]) => number > 0).map(([number, word]) => `${countText(number)} ${word}`);
  const parts = [...(effect === undefined ? [] : [effect]), ...(changes.since === null ? [] : [changed.join(', ')])];
  return parts.length === 0 ? '' : `${parts.join('; ')}.`;
}

/** What an approval leads to, and what still stands in its way. */
export function approvalWords(decisions: readonly RunDecision[]): string {
  const effect = effectWords(countEffect(decisions)) ?? plural(decisions.length, 'match', 'matches');
  return `Approving and applying it would affect ${effect}; ceilings, exemptions and a stop still hold it back.`;
}

export interface BoundRow {
  name: string;
  bound: string;
  used: string;
  bar: string;
  count: number;
  allowed: number;
  /** What stands after the numbers. */
  note: string;
}

const BAR_WIDTH = 20;
const BOUNDS_FEW = 6;
const NOTABLE = 0.5;

/** All limits and ceilings while there are few, otherwise those of which half or more is used; and how many are left out. */
export function boundRows({
  run,
  limits,
  ceilings,
}: Pick<Report, 'limits' | 'ceilings'> & { run: Pick<Report['run'], 'trigger' | 'scoped'> }): {
  rows: BoundRow[];
  left: number;
} {
  const all = [
    ...limits.flatMap((limit) => [
      { row: limitRow(limit, isOfLook(run)), share: shareOf(limit.targets, limit.allowed) },
      ...dayRows(limit),
    ]),
    ...ceilings.map((ceiling) => ({
      row: ceilingRow(ceiling, isOfLook(run)),
      share: shareOf(ceiling.used, ceiling.allowed),
    })),
  ].filter(({ share }) => share > 0);
  const shown = all.length <= BOUNDS_FEW ? all : all.filter(({ share }) => share >= NOTABLE);
  return { rows: shown.map(({ row }) => row), left: all.length - shown.length };
}

/** A run after events counts with what is decided since the last whole run. */
function limitRow({ rule, matches, targets, max, percent, allowed, crossed }: ReportLimit, isPart: boolean): BoundRow {
  const found = plural(matches, 'match', 'matches');
  const of = isPart ? ` (with the last whole run; ${found} now)` : matches === targets ? '' : ` (${found})`;
  const note = `${of}${crossed ? ', crossed' : ''}`;
  return { name: rule, bound: `max ${countText(max)}, ${percent} %`, ...useOf(targets, allowed, note) };
}

/** Only one of which half or more is used. */
function dayRows({ rule, inDay }: ReportLimit): { row: BoundRow; share: number }[] {
  const share = inDay ? shareOf(inDay.subjects, inDay.allowed) : 0;
  if (!inDay || share < NOTABLE) return [];
  const use = useOf(inDay.subjects, inDay.allowed, inDay.crossed ? ', crossed' : '');
  return [{ row: { name: rule, bound: `per_day ${countText(inDay.allowed)}`, ...use }, share }];
}

function ceilingRow({ action, window, used, allowed }: ReportCeiling, isPart: boolean): BoundRow {
  const inRun = isPart ? 'since the last whole run, with it' : 'in a run';
  return {
    name: action,
    bound: window === 'run' ? inRun : 'in 24 hours',
    ...useOf(used, allowed, ''),
  };
}

function useOf(count: number, allowed: number, note: string): Omit<BoundRow, 'name' | 'bound'> {
  const used = `${countText(count)} of ${countText(allowed)}${note}`;
  return { used, bar: bar(count, allowed), count, allowed, note };
}

function shareOf(used: number, allowed: number): number {
  return used === 0 ? 0 : allowed === 0 ? 1 : Math.min(1, used / allowed);
}

/** Anything used shows: at least one block is full, and only a whole bar means that all is used. */
function bar(used: number, allowed: number): string {
  const share = shareOf(used, allowed);
  const full = share === 1 ? BAR_WIDTH : Math.min(BAR_WIDTH - 1, Math.max(1, Math.round(share * BAR_WIDTH)));
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** Of rules that matched in some of the runs; one run alone is no chart. */
export function trendRows({
  trend,
}: Pick<Report, 'trend'>): { rule: string; matches: number[]; chart: string; words: string }[] {
  return trend
    .filter(({ counts }) => counts.length > 1 && counts.some(({ match }) => match > 0))
    .map(({ rule, counts }) => {
      const matches = counts.map(({ match }) => match);
      return { rule, matches, chart: chart(matches), words: trendWords(matches) };
    });
}

export function trendHeading({ trend }: Pick<Report, 'trend'>): string {
  const runs = Math.max(0, ...trend.map(({ counts }) => counts.length));
  return `Matches over the last ${plural(runs, 'run')}`;
}

/** From nothing to the most; what is not nothing is never drawn as nothing. */
export function chart(matches: ReportTrend['counts'][number]['match'][]): string {
  const most = Math.max(...matches);
  const level = (match: number) => (match === 0 ? 0 : Math.max(1, Math.round((match / most) * (LEVELS.length - 1))));
  return matches.map((match) => LEVELS[level(match)]).join('');
}

function trendWords(matches: number[]): string {
  const [least, most] = [Math.min(...matches), Math.max(...matches)];
  if (least === most) return `always ${countText(most)}`;
  return `${countText(least)} to ${countText(most)}, last ${countText(matches.at(-1) as number)}`;
}

/** What a person can do about missing facts: facts with the same way are named together. */
export function howToLines({ rules }: Pick<Report, 'rules'>): { facts: string[]; text: string }[] {
  const byText = new Map<string, Set<string>>();
  for (const { howTo } of rules)
    for (const [fact, text] of Object.entries(howTo)) byText.set(text, (byText.get(text) ?? new Set()).add(fact));
  return [...byText].map(([text, facts]) => ({ facts: [...facts], text }));
}
