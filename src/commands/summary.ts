// commands: `summary`: what happened since a time, on one screen. Reading only, also while a daemon writes.
import { composeReader } from '../compose/reader.ts';
import { withReader } from '../compose/with-reader.ts';
import { readChangeWindows } from '../config/windows.ts';
import { givenTime } from '../domain/given-time.ts';
import { buildSummary, summaryMarkdown, summaryText } from '../report/index.ts';
import { systemClock } from '../system/clock.ts';
import { withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

export async function summaryCommand(io: Io, options: CommonOptions & { since: string }): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const nowMs = systemClock.nowMs();
  const since = givenTime(options.since, '--since', nowMs, 'before');
  return withReader(composeReader(databaseOf(io, options)), async (reader) => {
    const summary = await buildSummary(reader, since, nowMs, readChangeWindows((await withSettings(io, options)).env));
    const written = {
      text: () => summaryText(summary, widthOf(options)),
      md: () => summaryMarkdown(summary),
      json: () => JSON.stringify(summary, null, 2),
    };
    write(io, options, written[format]());
    return 0;
  });
}
