// commands: `replay`: recorded time, sent once more through evaluating and deciding. It reads the history beside the database, also while a
// daemon writes it; it asks no API, and sends and keeps nothing.
import { AppError } from '../domain/errors.ts';
import type { Replay } from '../domain/replay.ts';
import { NOTE } from '../domain/replay-beside.ts';
import type { ReplayAsked, Replayer, ReplayWork } from '../domain/replayer.ts';
import { REPORT_FORMATS, type ReportFormat } from '../domain/report-format.ts';
import { showHidden } from '../report/hostile-text.ts';
import { replayDocument } from '../report/replay/build.ts';
import type { ReplayDocument } from '../report/replay/document.ts';
import { systemClock } from '../system/clock.ts';
import { keepHeapLean } from '../system/lean-heap.ts';
import { statusLine } from '../system/status-line.ts';
import { withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { type ReplayedTimeOptions, replayedTime } from './replayed-time.ts';

export interface ReplayOptions extends ReplayedTimeOptions {
  rule?: string[];
}

/** Exit code 1: as it was, and a decision differs without a reason in the record. */
export async function replayCommand(io: Io, options: ReplayOptions): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  const asked = { ...replayedTime(options, systemClock.nowMs()), rules: options.rule };
  const { rules } = options;
  const { replay, span } = await replaying(io, options, async (replayer, work) => {
    if (rules !== undefined) await noteUnread(io, replayer, asked, [rules], work);
    return {
      replay: rules === undefined ? await replayer.asItWas(asked, work) : await replayer.whatIf(asked, rules, work),
      span: await replayer.span(),
    };
  });
  demandKnown(options.rule, replay);
  const document = replayDocument(replay, options.rules ?? null, span);
  write(io, options, await rendered(document, format, widthOf(options)));
  return replay.differences.some(({ isExplained }) => !isExplained) ? 1 : 0;
}

type Work<T> = (replayer: Replayer, work: ReplayWork) => Promise<T>;

/** Errors: AppError `not_found` without a history, and those of the work. */
export async function replaying<T>(io: Io, options: CommonOptions, work: Work<T>): Promise<T> {
  keepHeapLean();
  const { composeReplayer } = await import('../compose/replayer.ts');
  const replayer = await composeReplayer(
    databaseOf(io, options),
    (await withSettings(io, options)).env.TRUSTWARD_HISTORY?.trim() || undefined,
  );
  const stopping = new AbortController();
  void io.untilStopped().then(() => stopping.abort());
  try {
    return await work(replayer, { signal: stopping.signal, progress: statusLine.progress(io.env) });
  } finally {
    statusLine.clear();
  }
}

/** Before the work: which lists the rules of these folders need and the recorded runs did not read, one line each. */
export async function noteUnread(
  io: Io,
  replayer: Pick<Replayer, 'unread'>,
  asked: ReplayAsked,
  rulesDirs: readonly string[],
  work: ReplayWork,
): Promise<void> {
  for (const { text } of await replayer.unread(asked, rulesDirs, work)) io.err(`${NOTE}${showHidden(text)}\n`);
}

/** A mistyped id must not look like a rule that matched nobody. */
function demandKnown(asked: readonly string[] | undefined, { rules, runs }: Replay): void {
  const known = new Set(rules.map(({ id }) => id));
  const unknown = runs === 0 ? undefined : asked?.find((id) => !known.has(id));
  if (unknown === undefined) return;
  throw new AppError(
    'not_found',
    `--rule \`${unknown}\`: no replayed run had a rule of this id; \`trustward rules list\` has the present ones`,
  );
}

async function rendered(replay: ReplayDocument, format: ReportFormat, options: { width: number }): Promise<string> {
  switch (format) {
    case 'json': {
      const { jsonPieces } = await import('../domain/json-pieces.ts');
      return [...jsonPieces(replay, 2)].join('');
    }
    case 'md':
      return (await import('../report/replay/markdown.ts')).replayMarkdown(replay);
    case 'csv':
      return (await import('../report/replay/csv.ts')).replayCsv(replay);
    case 'html':
      return [...(await import('../report/html/replay/file.tsx')).replayHtmlPieces(replay)].join('');
    case 'text':
      return (await import('../report/replay/text.ts')).replayText(replay, options);
  }
}
