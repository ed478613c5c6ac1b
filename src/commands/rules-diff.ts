// commands: `rules diff`: what one rule set does that another does not, over what was recorded. It reads the history beside the database, and
// sends and keeps nothing. Exit codes as of `diff`: 0 equal, 1 different, 2 could not be compared.
import { AppError } from '../domain/errors.ts';
import { systemClock } from '../system/clock.ts';
import { faultText, type Io, outputOf, widthOf, write } from './io.ts';
import { noteUnread, replaying } from './replay.ts';
import { type ReplayedTimeOptions, replayedTime } from './replayed-time.ts';

export async function rulesDiffCommand(
  io: Io,
  old: string,
  changed: string,
  options: ReplayedTimeOptions,
): Promise<number> {
  try {
    return await compare(io, old, changed, options);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    io.err(`trustward: ${faultText(error)}\n`);
    return 2;
  }
}

async function compare(io: Io, old: string, changed: string, options: ReplayedTimeOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const asked = replayedTime(options, systemClock.nowMs());
  const found = await replaying(io, options, async (replayer, work) => {
    await noteUnread(io, replayer, { ...asked, rules: undefined }, [old, changed], work);
    return replayer.compare(asked, { old, new: changed }, work);
  });
  const { rulesDiffDocument } = await import('../report/rules-diff/document.ts');
  const document = rulesDiffDocument(found, { old, new: changed });
  const written = {
    text: async () => (await import('../report/rules-diff/text.ts')).rulesDiffText(document, widthOf(options)),
    md: async () => (await import('../report/rules-diff/markdown.ts')).rulesDiffMarkdown(document),
    json: async () => JSON.stringify(document, null, 2),
  };
  write(io, options, await written[format]());
  return document.rules.length === 0 ? 0 : 1;
}
