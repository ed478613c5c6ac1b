// cli: `rules diff`: what one rule set does that another does not, over what was recorded. It reads the history beside the database, and
// sends and keeps nothing. Exit codes as of `diff`: 0 equal, 1 different, 2 could not be compared.
import { isoTime, parseDuration, timeText } from '../../base/time.ts';
import type { ReplayDocument } from '../../contract/replay.ts';
import { digestOf } from '../../domain/digest.ts';
import { AppError } from '../../domain/errors.ts';
import { givenTime } from '../../domain/given-time.ts';
import { demandOneToChange, resolveName } from '../../domain/identity.ts';
import {
  MEND_DEFAULT,
  type MendModel,
  NOTE,
  REPORT_FORMATS,
  type Replay,
  type ReplayAsked,
  type Replayer,
  type ReplayWork,
  type ReportFormat,
} from '../../domain/replay.ts';
import { ALL } from '../../domain/rollout.ts';
import { SUBJECT_KINDS, type SubjectRef } from '../../domain/subjects.ts';
import { filled } from '../../engine/operate/commands.ts';
import { forgetSubject, historyDays, verifyHistory } from '../../history/files/forget.ts';
import { historyBytes, historyFolderOf } from '../../history/files/segment-files.ts';
import { shareOf } from '../../rules/check/actions.ts';
import { boundAddressOf } from '../../runtime/compose/history.ts';
import { composeAuditWriter } from '../../runtime/compose/opened.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemIds } from '../../runtime/system/ids.ts';
import { keepHeapLean, statusLine } from '../../runtime/system/process.ts';
import type { Document } from '../report/document.ts';
import { showHidden } from '../report/fact-text.ts';
import { replayDocument } from '../report/replay/build.ts';
import { terminalList } from '../report/terminal-table.ts';
import { withSettings } from './config-of.ts';
import { actorHere } from './daemon-client.ts';
import {
  type CommonOptions,
  databaseOf,
  faultText,
  type Io,
  lineWidthOf,
  outputOf,
  sizeText,
  widthOf,
  write,
} from './io.ts';
import { chosenName } from './operator.ts';

interface ReplayedTimeOptions extends CommonOptions {
  since: string;
  until?: string;
  every?: string;
}

const EVERY_MAX_MS = 366 * 86_400_000;

/** Errors: AppError `usage`. */
function replayedTime({ since, until, every }: ReplayedTimeOptions, nowMs: number): Omit<ReplayAsked, 'rules'> {
  const fromMs = givenTime(since, '--since', nowMs, 'before');
  const toMs = until === undefined ? nowMs : givenTime(until, '--until', nowMs, 'before');
  if (fromMs >= nowMs) throw new AppError('usage', `--since \`${since}\`: expected a time in the past`);
  if (toMs <= fromMs) throw new AppError('usage', `--until \`${until}\`: expected a time after --since \`${since}\``);
  return { fromMs, toMs, everyMs: everyOf(every) };
}

function everyOf(every: string | undefined): number | undefined {
  if (every === undefined) return undefined;
  const ms = parseDuration(every);
  if (ms === undefined || ms < 1 || ms > EVERY_MAX_MS)
    throw new AppError('usage', `--every \`${every}\`: expected a duration such as 1h, at most 366d`);
  return ms;
}

// `replay`: recorded time, sent once more through evaluating and deciding.

export interface ReplayOptions extends ReplayedTimeOptions {
  rule?: string[];
  mend?: string;
}

const MEND = /^(\d{1,3}(?:\.\d{1,2})? ?%) ?, ?(\S+)$/;

/** Errors: AppError `usage`. */
function mendOf({ mend, rules }: ReplayOptions): MendModel | undefined {
  if (rules === undefined) {
    if (mend === undefined) return undefined;
    throw new AppError(
      'usage',
      '--mend: what people did is recorded; give `--rules` to assume what they would have done',
    );
  }
  const [, share = '', time = ''] = MEND.exec((mend ?? MEND_DEFAULT).trim()) ?? [];
  const model = { share: shareOf(share), afterMs: parseDuration(time) ?? Number.NaN };
  if (model.share <= ALL && model.afterMs >= 0) return model;
  throw new AppError(
    'usage',
    `--mend \`${mend}\`: expected a share of people and how long they take, such as ${MEND_DEFAULT}`,
  );
}

/** Exit code 1: as it was, and a decision differs without a reason in the record. */
export async function replayCommand(io: Io, options: ReplayOptions): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  const asked = { ...replayedTime(options, systemClock.nowMs()), rules: options.rule, mend: mendOf(options) };
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
  const { composeReplayer } = await import('../../runtime/compose/replayer.ts');
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
      const { jsonPieces } = await import('../../base/json.ts');
      return [...jsonPieces(replay, 2)].join('');
    }
    case 'md':
      return (await import('../report/markdown.ts')).documentMarkdown(await readable(replay, 'md'));
    case 'csv':
      return (await import('../report/replay/sections.ts')).replayCsv(replay);
    case 'html':
      return [...(await import('../report/html/picture.tsx')).replayHtmlPieces(replay)].join('');
    case 'text':
      return (await import('../report/text.ts')).documentText(await readable(replay, 'text'), options);
  }
}

async function readable(replay: ReplayDocument, medium: 'text' | 'md'): Promise<Document> {
  return (await import('../report/replay/sections.ts')).readableReplay(replay, medium);
}

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
  const { COMMENT_MAX, readableDiff, rulesDiffDocument } = await import('../report/rules-diff/sections.ts');
  const document = rulesDiffDocument(found, { old, new: changed });
  const written = {
    text: async () => (await import('../report/text.ts')).documentText(readableDiff(document), widthOf(options)),
    md: async () => (await import('../report/markdown.ts')).documentMarkdown(readableDiff(document), COMMENT_MAX),
    json: async () => JSON.stringify(document, null, 2),
  };
  write(io, options, await written[format]());
  return document.rules.length === 0 ? 0 : 1;
}

// `history …`: what is recorded, whether it is whole, and forgetting one subject of it.

const FORMATS = ['text', 'json'] as const;

export async function historyListCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const folder = historyFolderOf(databaseOf(io, options).beside);
  const days = historyDays(folder);
  const bytes = historyBytes(folder);
  const beside = bytes - days.reduce((sum, day) => sum + day.bytes, 0);
  if (format === 'json') {
    write(io, options, JSON.stringify({ folder, bytes, days }, null, 2));
    return 0;
  }
  const head = ['Day', 'Runs', 'Files', 'Size', 'Base'];
  const rows = days.map(({ day, runs, files, bytes: size, hasBase }) => [
    ...[day, String(runs), String(files), sizeText(size), hasBase ? 'yes' : 'no'],
  ]);
  const none = [`nothing is recorded in ${folder}`];
  const sum = `${folder}: ${sizeText(bytes)}${beside > 0 ? `, of which ${sizeText(beside)} beside the days` : ''}`;
  write(io, options, (days.length === 0 ? none : [terminalList(head, rows, lineWidthOf(options)), '', sum]).join('\n'));
  return 0;
}

/** Exit code 1 names each bad file. */
export async function historyVerifyCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const database = databaseOf(io, options);
  const folder = historyFolderOf(database.beside);
  const check = verifyHistory(folder, await boundAddressOf(database));
  const { ok, files, bytes, runs, rows, fromMs, toMs, problems } = check;
  if (format === 'json') {
    const time = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms));
    const found = problems.map(({ file, text }) => ({ file: file ?? null, text }));
    const json = { ok, folder, files, bytes, runs, rows, from: time(fromMs), to: time(toMs), problems: found };
    write(io, options, JSON.stringify(json, null, 2));
    return ok ? 0 : 1;
  }
  if (files === 0 && ok) {
    write(io, options, `nothing is recorded in ${folder}`);
    return 0;
  }
  const span = fromMs === undefined || toMs === undefined ? '' : `, ${timeText(fromMs)} to ${timeText(toMs)}`;
  const lines = [
    `${folder}: ${runs} runs in ${files} files, ${sizeText(bytes)}${span}: ${ok ? 'whole' : 'not whole'}`,
    ...problems.map(({ file, text }) => `  ${file === undefined ? '' : `${file}: `}${text}`),
  ];
  write(io, options, lines.map(showHidden).join('\n'));
  return ok ? 0 : 1;
}

export interface ForgetOptions extends CommonOptions {
  reason: string;
}

/**
 * Exit code 1: some files cannot be read, and may have records of it. Errors: AppError `store_locked` while a daemon runs, `not_found` and `usage`
 * for a name of none or several.
 */
export async function historyForgetCommand(io: Io, name: string, options: ForgetOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const reason = filled(options.reason, 'reason', 'say why, for the audit');
  const database = databaseOf(io, options);
  const folder = historyFolderOf(database.beside);
  const chosen = await chosenName(io, options, name, SUBJECT_KINDS);
  const writer = await composeAuditWriter(database);
  try {
    const { store, checkpointer, clock } = writer;
    const subject = await subjectOf(store, chosen);
    // The audit is kept: it names nobody whose records are to be forgotten.
    const digest = digestOf({ kind: subject.kind, id: subject.id.toLowerCase() });
    const standIn = `forgotten-${systemIds(clock).next().slice(-12)}`;
    const body = { subject: subject.kind, digest, standIn, by: actorHere(), reason };
    await store.appendAudit([{ kind: 'history.forgotten', body }]);
    const forgotten = forgetSubject(folder, { subject, atMs: clock.nowMs(), standIn });
    await checkpointer.seal();
    const { segments, removed, replaced, inRules, unreadable } = forgotten;
    const counted = removed + replaced > 0 || unreadable.length > 0;
    const lines = [
      counted
        ? `${removed} records of the ${subject.kind} were removed from ${segments} files, and ${replaced} of others are without it or name \`${standIn}\` instead`
        : `nothing was recorded of this ${subject.kind}`,
      ...(inRules > 0
        ? [`${inRules} recorded rule files name it and are kept: edit the rule, and they go when they are old`]
        : []),
      ...unreadable.map((file) => `${file} cannot be read and may have records of it: remove the file`),
    ];
    lines.push(...NOT_HERE);
    const json = { subject: subject.kind, digest, standIn, segments, removed, replaced, inRules, unreadable };
    write(io, options, format === 'json' ? JSON.stringify(json, null, 2) : lines.map(showHidden).join('\n'));
    return unreadable.length === 0 ? 0 : 1;
  } finally {
    await writer.close();
  }
}

/** INVARIANT: no answer is taken for more than it is. */
const NOT_HERE = [
  'the next run records it again while the API lists it, or an exemption in force covers it',
  'the database, its audit, exports and backups are not changed: docs/history.md names what they keep',
];

/** Somebody whom no list has shown for long may be in the history still: an e-mail address is taken as it is. */
async function subjectOf(reader: Parameters<typeof resolveName>[0], name: string): Promise<SubjectRef> {
  const resolved = await resolveName(reader, name, { kinds: SUBJECT_KINDS });
  if (resolved.found === 'none' && name.includes('@')) return { kind: 'user', id: name };
  const { kind, id } = demandOneToChange(resolved, name).subjects[0];
  return { kind, id };
}
