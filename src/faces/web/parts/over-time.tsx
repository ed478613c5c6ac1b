// web: what rules matched and what was done, over 24 hours, 7 days or 30 days: matches as a curve, what was done as bars, and what is unknown as a
// curve with an axis of its own. In: the store, a rule or all of them. Out: a part of a page, drawn on the server, with its numbers as a table.

import { z } from 'zod';
import { DAY_MS, formatDuration, HOUR_MS } from '../../../base/time.ts';
import type { RunRecord } from '../../../domain/store.ts';
import type { DoneInStep } from '../../../domain/store-ports.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { asSentence, countText, pastOf, plural, verbOf } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Table, When } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { Ago, type BarSeries, Curve, curveWords, type Point, StepBars } from './figures.tsx';

export const RANGES = ['24h', '7d', '30d'] as const;
export type Range = (typeof RANGES)[number];

const SPANS: Readonly<Record<Range, { words: string; steps: number; stepMs: number; each: string }>> = {
  '24h': { words: '24 hours', steps: 24, stepMs: HOUR_MS, each: 'hour' },
  '7d': { words: '7 days', steps: 28, stepMs: 6 * HOUR_MS, each: '6 hours' },
  '30d': { words: '30 days', steps: 30, stepMs: DAY_MS, each: 'day' },
};

export const rangeField = z.enum(RANGES).default('7d');

/** Readings that a curve has at most. */
const POINTS = 240;
/** Runs that are read whatever their time: the newest may not have judged a rule. */
const NEWEST = 20;

export interface RunTally {
  seq: number;
  at: number;
  match: number;
  no_match: number;
  unknown: number;
  error: number;
}

export interface Tallies {
  range: Range;
  nowMs: number;
  /** It ends there, and not now. */
  run: Pick<RunRecord, 'seq' | 'finishedAt'> | undefined;
  untilMs: number;
  /** Of how many runs in the range; what is read of them is enough for a curve. */
  runs: number;
  read: number;
  /** The newest first; the last one may be older than the range, and is what stood at its beginning. */
  byRule: Map<string, RunTally[]>;
}

/** Of whole runs that are spread over a range, and of the newest ones. */
export async function talliesOver(
  { reader, clock }: Pick<HttpDeps, 'reader' | 'clock'>,
  range: Range,
  run?: Tallies['run'],
): Promise<Tallies> {
  const nowMs = clock.nowMs();
  const untilMs = run?.finishedAt ?? nowMs;
  const isPast = run?.finishedAt !== undefined;
  const { steps, stepMs } = SPANS[range];
  const spanMs = steps * stepMs;
  const times = Array.from({ length: POINTS + 1 }, (_, at) => Math.round(untilMs - (spanMs * at) / POINTS));
  const byRule = new Map<string, RunTally[]>();
  const found = (await reader.ruleTallies(times, NEWEST)).filter(({ at }) => !isPast || at <= untilMs);
  for (const { seq, at, tallies } of found) {
    for (const { rule, ...counts } of tallies) {
      const known = byRule.get(rule);
      if (known) known.push({ seq, at, ...counts });
      else byRule.set(rule, [{ seq, at, ...counts }]);
    }
  }
  const { fromSeq, count } = await reader.wholeRunsSince(untilMs - spanMs);
  const later = isPast ? (await reader.wholeRunsSince(untilMs + 1)).count : 0;
  return {
    range,
    nowMs,
    run,
    untilMs,
    byRule,
    runs: count - later,
    read: found.filter(({ seq }) => seq >= fromSeq).length,
  };
}

/** Undefined: it shows all runs. */
function sampledWords({ range, read, runs, run }: Tallies): string | undefined {
  const { steps, stepMs } = SPANS[range];
  if (read >= runs) return undefined;
  const each = formatDuration((steps * stepMs) / POINTS);
  return `It shows ${countText(read)} of ${countText(runs)} runs: of each ${each} the last one${run?.finishedAt === undefined ? ', and the newest' : ''}.`;
}

/** Of all rules together, run by run. */
function summed(byRule: Tallies['byRule']): RunTally[] {
  const byRun = new Map<number, RunTally>();
  for (const tally of [...byRule.values()].flat()) {
    const sum = byRun.get(tally.seq);
    if (sum === undefined) byRun.set(tally.seq, { ...tally });
    else for (const verdict of ['match', 'no_match', 'unknown', 'error'] as const) sum[verdict] += tally[verdict];
  }
  return [...byRun.values()].sort((one, other) => other.seq - one.seq);
}

type Verdict = 'match' | 'unknown' | 'error';

function pointsOf(tallies: readonly RunTally[], verdict: Verdict): Point[] {
  return tallies.map((tally) => ({ at: tally.at, count: tally[verdict] })).reverse();
}

interface OverTimeProps {
  /** The address of the page. */
  path: string;
  tallies: Tallies;
  /** Undefined: all rules. */
  rule?: string;
}

export async function chartOver({ reader }: Pick<HttpDeps, 'reader'>, { path, tallies, rule }: OverTimeProps) {
  const { range, nowMs, byRule, run } = tallies;
  const { steps, stepMs, words, each } = SPANS[range];
  const isPast = run?.finishedAt !== undefined;
  const own = rule === undefined ? summed(byRule) : (byRule.get(rule) ?? []);
  const untilMs = isPast ? tallies.untilMs : Math.ceil(nowMs / stepMs) * stepMs;
  const done = await reader.doneInSteps({ untilMs, steps, stepMs, rule });
  const series = seriesOf(done);
  const [last] = own;
  const strip = { fromMs: tallies.untilMs - steps * stepMs, nowMs: tallies.untilMs, isPast };
  return (
    <section class="card over-time" id="over-time">
      <div class="title">
        <h2>Over time</h2>
        <RangeLinks path={path} chosen={range} />
      </div>
      {last === undefined ? (
        <p class="empty">No whole run has judged {rule === undefined ? 'anything' : 'it'} yet.</p>
      ) : (
        <>
          <p class="quiet">
            As of <Link href={`/runs/${last.seq}`}>run {last.seq}</Link>, <Ago at={last.at} nowMs={nowMs} />.{' '}
            {sampledWords(tallies)}
          </p>
          <Strip {...strip} name="Matches" tone="accent" points={pointsOf(own, 'match')} />
        </>
      )}
      {done.length === 0 ? (
        <p class="quiet">Nothing was done in the {isPast ? `${words} before` : `last ${words}`}.</p>
      ) : (
        <>
          <h3>Done, each {each}</h3>
          <StepBars series={series} steps={steps} stepMs={stepMs} untilMs={untilMs} ends={null} />
        </>
      )}
      {last === undefined ? null : (
        <>
          <Strip {...strip} name="Unknown" tone="wait" points={pointsOf(own, 'unknown')} />
          {own.some(({ error }) => error > 0) ? (
            <Strip {...strip} name="Errors" tone="bad" points={pointsOf(own, 'error')} />
          ) : null}
        </>
      )}
      <div class="hours-ends quiet">
        <span>
          {words} {isPast ? 'before' : 'ago'}
        </span>
        <span>{isPast ? `end of run ${run.seq}` : 'now'}</span>
      </div>
      <details>
        <summary>The numbers</summary>
        <Numbers tallies={own} done={done} untilMs={untilMs} stepMs={stepMs} />
      </details>
    </section>
  );
}

/** The matches of one rule, small. */
export function MatchCurve({ tallies, over: { range, nowMs } }: { tallies: readonly RunTally[]; over: Tallies }) {
  const { steps, stepMs } = SPANS[range];
  const fromMs = nowMs - steps * stepMs;
  const points = pointsOf(tallies, 'match');
  const label = `matches: ${curveWords(points, fromMs, nowMs).text}`;
  return (
    <div class="small-curve">
      <Curve points={points} fromMs={fromMs} toMs={nowMs} ground="zero" tone="accent" label={label} />
    </div>
  );
}

/** Each range is an address of its own. */
function RangeLinks({ path, chosen }: { path: string; chosen: Range }) {
  return (
    <nav class="ranges" aria-label="Range">
      {RANGES.map((range) => (
        <Link
          class="range"
          href={`${addressOf(path, { range })}#over-time`}
          aria-current={range === chosen ? 'true' : undefined}
        >
          {range.replace(/(\d)(\D)/, '$1 $2')}
        </Link>
      ))}
    </nav>
  );
}

interface StripProps {
  name: string;
  points: readonly Point[];
  fromMs: number;
  nowMs: number;
  isPast: boolean;
  tone: string;
}

/** A curve with its own axis, from nothing to its highest number. */
function Strip({ name, points, fromMs, nowMs, isPast, tone }: StripProps) {
  const shown = curveWords(points, fromMs, nowMs, isPast);
  return (
    <>
      <h3>
        {name}: <small>{shown.text}</small>
      </h3>
      <div class="strip">
        <div class="axis quiet" aria-hidden="true">
          <span>{countText(Math.max(1, shown.most))}</span>
          <span>0</span>
        </div>
        <Curve
          points={points}
          fromMs={fromMs}
          toMs={nowMs}
          ground="zero"
          tone={tone}
          label={`${name}: ${shown.text}. The numbers are below.`}
        />
      </div>
    </>
  );
}

const TONES: readonly { tone: string; isDown: boolean; verbs: readonly string[] }[] = [
  { tone: 'bad', isDown: false, verbs: ['ban', 'delete'] },
  { tone: 'wait', isDown: false, verbs: ['disable'] },
  { tone: 'good', isDown: true, verbs: ['unban', 'enable'] },
];

function seriesOf(done: readonly DoneInStep[]): BarSeries[] {
  const actions = [...new Set(done.map(({ action }) => action))];
  return actions.map((action) => {
    const named = verbOf(action);
    const { tone = 'calm', isDown = false } = TONES.find(({ verbs }) => verbs.includes(named?.verb ?? '')) ?? {};
    const counts = new Map(done.filter((one) => one.action === action).map(({ step, targets }) => [step, targets]));
    const words = (count: number) =>
      named ? `${plural(count, named.noun)} ${pastOf(named.verb)}` : `${countText(count)} × ${action}`;
    return { words, tone, isDown, counts };
  });
}

interface NumbersProps {
  tallies: readonly RunTally[];
  done: readonly DoneInStep[];
  untilMs: number;
  stepMs: number;
}

const NUMBER = { kind: 'number' } as const;

function Numbers({ tallies, done, untilMs, stepMs }: NumbersProps) {
  return (
    <>
      <Table
        caption={`Verdicts of ${plural(tallies.length, 'run')}, newest first`}
        columns={[
          'Run',
          'Started',
          { head: 'Match', ...NUMBER },
          { head: 'Unknown', ...NUMBER },
          { head: 'Error', ...NUMBER },
        ]}
        rows={tallies.map(({ seq, at, match, unknown, error }) => ({
          cells: [
            <Link href={`/runs/${seq}`} aria-label={`the report of run ${seq}`}>
              {seq}
            </Link>,
            <When at={at} />,
            ...[match, unknown, error].map(countText),
          ],
        }))}
        empty="No whole run has judged it."
      />
      <DoneTable done={done} untilMs={untilMs} stepMs={stepMs} />
    </>
  );
}

export function DoneTable({ done, untilMs, stepMs }: Omit<NumbersProps, 'tallies'>) {
  return (
    <Table
      caption="What was done"
      columns={['From', 'Action', { head: 'Targets', ...NUMBER }]}
      rows={[...done]
        .sort((one, other) => one.step - other.step)
        .map(({ step, action, targets }) => ({
          cells: [<When at={untilMs - (step + 1) * stepMs} />, asSentence(action), countText(targets)],
        }))}
      empty="Nothing was done."
    />
  );
}
