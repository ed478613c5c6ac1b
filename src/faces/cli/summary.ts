// cli: `summary`: what happened since a time, on one screen. Reading only, also while a daemon writes.

import { givenTime } from '../../domain/given-time.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/run-reader.ts';
import { readSchedule } from '../../runtime/config/config.ts';
import { timesBetween } from '../../runtime/schedule/run-queue.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { documentMarkdown } from '../report/markdown.ts';
import { readNow, stateNow } from '../report/state-now.ts';
import { buildSummary, type TimesDue } from '../report/summary/build.ts';
import { readableSummary } from '../report/summary/sections.ts';
import { documentText } from '../report/text.ts';
import { remoteOf, withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { rulesOfSettings } from './operations.ts';

export async function summaryCommand(io: Io, options: CommonOptions & { since: string }): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const remote = await remoteOf(io, options);
  if (remote) return (await import('./there.ts')).summaryThere(remote, io, options, format);
  const nowMs = systemClock.nowMs();
  const since = givenTime(options.since, '--since', nowMs, 'before');
  return withReader(composeReader(databaseOf(io, options)), async (reader) => {
    const { windows, schedule } = readSchedule((await withSettings(io, options)).env);
    const due: TimesDue = (fromMs, untilMs) => timesBetween(schedule, fromMs, untilMs, 5);
    const summary = await buildSummary(reader, since, nowMs, windows, due);
    // Without readable rules no transmitter is known.
    const { rules } = await rulesOfSettings(io, options).catch(() => ({ rules: [] }));
    const { sentence } = stateNow(await readNow(reader, nowMs, rules));
    const written = {
      text: () => documentText(readableSummary(summary, sentence), widthOf(options)),
      md: () => documentMarkdown(readableSummary(summary, sentence)),
      json: () => JSON.stringify(summary, null, 2),
    };
    write(io, options, written[format]());
    return 0;
  });
}
