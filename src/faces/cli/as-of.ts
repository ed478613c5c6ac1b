// cli: `why WHAT --at TIME` and `facts WHAT --at TIME`: what was so of one subject, from what runs recorded then; `facts WHAT`: what is so now. In: a
// name, a time. Out: text or JSON. Reading only, also while a daemon writes; of an earlier time, the platform is not asked and no credential is read.
import { existsSync } from 'node:fs';
import { timeText } from '../../base/time.ts';
import * as answers from '../../contract/answers.ts';
import { encodedJson } from '../../contract/operation.ts';
import { databaseName } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { givenTime } from '../../domain/given-time.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import { type AsOfDeps, type FactsAt, factsAt, whyAt } from '../../engine/explain/why-at.ts';
import { historyFolderOf } from '../../history/files/segment-files.ts';
import { FACT_KINDS } from '../../rules/facts/fact-list.ts';
import { composeHistory, newestRunOf } from '../../runtime/compose/history.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/run-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { factText, showHidden } from '../report/fact-text.ts';
import { paragraph } from '../report/terminal-table.ts';
import { asOfWords } from '../report/why-words.ts';
import { demoMark } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { operations } from './operations.ts';
import { chosenName } from './operator.ts';
import { whyText } from './why-text.ts';

export async function whyAtCommand(io: Io, name: string, at: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const why = await reading(io, options, name, at, whyAt);
  const text = async () => (await demoMark(io, options)) + whyText(why, widthOf(options));
  write(io, options, format === 'json' ? json(encodedJson(answers.why, why)) : await text());
  return 0;
}

export async function factsAtCommand(
  io: Io,
  name: string | undefined,
  at: string,
  options: CommonOptions,
): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  if (name === undefined)
    throw new AppError('usage', '--at needs the name of a device, user or service: `trustward facts WHAT --at 2d`');
  const facts = await reading(io, options, name, at, factsAt);
  write(
    io,
    options,
    format === 'json' ? json(encodedJson(answers.factsAt, facts)) : factsAtText(facts, widthOf(options)),
  );
  return 0;
}

/** `facts WHAT`: as its record is now. Errors: those of `why`; AppError `not_found` also names the kinds of facts. */
export async function factsNowCommand(io: Io, name: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const what = await chosenName(io, options, name, SUBJECT_KINDS, { confirms: false });
  const { subject, at, record, unread } = await operations(io, options)
    .why({ of: what })
    .catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      const kinds = `\`trustward facts KIND\` lists what rules can read: KIND is ${FACT_KINDS.join(', ')}`;
      throw new AppError('not_found', `${error.message}; ${kinds}`);
    });
  if (record === undefined)
    throw new AppError(
      'api_unreachable',
      `\`${name}\` could not be read: ${unread ?? 'its record is that of another'}`,
    );
  const { width } = widthOf(options);
  const head = `${subject.kind} ${showHidden(subject.id)} as read ${timeText(at)}`;
  const shown = { subject, at, record };
  const text = () => [paragraph(head, { width }), '', ...factLines(record, at, width)].join('\n');
  write(io, options, format === 'json' ? json(encodedJson(answers.factsNow, shown)) : text());
  return 0;
}

/** Errors: AppError `usage` for a time, `not_found` without a database or a history, and those of the work. */
async function reading<T>(
  io: Io,
  options: CommonOptions,
  name: string,
  at: string,
  work: (deps: AsOfDeps, what: string, atMs: number) => Promise<T>,
): Promise<T> {
  const database = databaseOf(io, options);
  const atMs = givenTime(at, '--at', systemClock.nowMs(), 'before');
  const what = await chosenName(io, options, name, SUBJECT_KINDS, { confirms: false });
  return withReader(composeReader(database), async (reader) => {
    if (!existsSync(historyFolderOf(database.beside)))
      throw new AppError(
        'not_found',
        `there is no history beside \`${databaseName(database)}\`: nothing was recorded of any earlier time`,
      );
    const history = composeHistory(database, await reader.address(), () => newestRunOf(reader));
    return await work({ history, reader, actions: ACTIONS, clock: systemClock }, what, atMs);
  });
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

function factsAtText({ subject: { kind, id }, asOf, record }: FactsAt, { width }: { width: number }): string {
  const head = asOfWords(asOf).map((line, at) =>
    paragraph(at === 0 ? `${kind} ${showHidden(id)} at ${line}` : line, { width }),
  );
  return [...head, '', ...factLines(record, asOf.askedAt, width)].join('\n');
}

function factLines(record: Facts, atMs: number, width: number): string[] {
  return leavesOf(record).map(([path, value]) => {
    const line = showHidden(`${path} = ${factText(path, value, atMs)}`);
    const [first = '', ...rest] = paragraph(line, { width: width - 4 }).split('\n');
    return [`  ${first}`, ...rest.map((more) => `    ${more}`)].join('\n');
  });
}

function leavesOf(value: Fact, path = ''): [string, Fact][] {
  if (!isFacts(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path === '' ? name : `${path}.${name}`));
}
