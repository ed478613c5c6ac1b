// explain: one moment of the recorded past: the last run at or before a time, and the events that were known of a subject. In: the history, a
// time. Out: the run as it was recorded, or an error in plain words: before the first record, in a gap, far from any run.
import { spanText } from '../../domain/age-text.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { HistoryGap, HistoryReader, RecordedRun } from '../../domain/recorded-history.ts';
import { timeText } from '../../domain/time-text.ts';

export interface Moment {
  run: RecordedRun;
  /** As the record has them; older ones than those of the beginning are in it, as far as windows reached. */
  events: TrustEvent[];
  /** What was removed on somebody's behalf: of whom is not kept. */
  forgotten: readonly HistoryGap[];
}

const DAY_MS = 86_400_000;
/** A run that is older than this says nothing of a time. */
const RUN_WITHIN_MS = DAY_MS;

/** Errors: AppError `not_found`, `usage` for a time that is ahead, and those of the history. */
export async function momentAt(
  history: HistoryReader,
  { atMs, nowMs, isAbout }: { atMs: number; nowMs: number; isAbout(event: TrustEvent): boolean },
): Promise<Moment> {
  const at = timeText(atMs);
  if (atMs > nowMs) throw new AppError('usage', `--at is ${at}, which is ahead: leave out --at for the present`);
  const span = await history.span();
  if (span === undefined)
    throw new AppError('not_found', 'nothing is recorded yet: the history begins with the first run that is recorded');
  if (atMs < span.fromMs)
    throw new AppError('not_found', `nothing is recorded of ${at}: the history begins at ${timeText(span.fromMs)}`);
  const found = await lastRunBefore(history, atMs, isAbout);
  const { run, gap } = found;
  if (gap !== undefined) throw new AppError('not_found', gapText(at, gap));
  if (run === undefined) {
    const text = `no run is recorded within ${spanText(RUN_WITHIN_MS)} before ${at}`;
    throw new AppError('not_found', `${text}; the last recorded one began at ${timeText(span.toMs)}`);
  }
  return { run, events: found.events, forgotten: found.forgotten };
}

async function lastRunBefore(
  history: HistoryReader,
  atMs: number,
  isAbout: (event: TrustEvent) => boolean,
): Promise<Omit<Moment, 'run'> & { run: RecordedRun | undefined; gap: HistoryGap | undefined }> {
  let run: RecordedRun | undefined;
  let gap: HistoryGap | undefined;
  let events: TrustEvent[] = [];
  const forgotten: HistoryGap[] = [];
  for await (const item of history.items({ fromMs: atMs - RUN_WITHIN_MS, toMs: atMs, facts: new Map() })) {
    switch (item.kind) {
      case 'state':
        events = [];
        for await (const batch of item.events) events.push(...batch.filter(isAbout));
        break;
      case 'run':
        if (item.run.frame.run.startedAt > atMs) break;
        run = item.run;
        gap = undefined;
        events.push(...run.events.filter(isAbout));
        break;
      case 'gap':
        // A removed person is no stretch of time without runs. A gap goes on until a run is recorded.
        if (item.gap.cause === 'forgotten') forgotten.push(item.gap);
        else if (item.gap.fromMs <= atMs) gap = item.gap;
    }
  }
  return { run, gap, events, forgotten };
}

function gapText(at: string, { fromMs, toMs, text }: HistoryGap): string {
  const before = `--at ${new Date(fromMs).toISOString()}`;
  return `what was so at ${at} is not recorded: ${text} (${timeText(fromMs)} to ${timeText(toMs)}); \`${before}\` asks for the time before`;
}
