// commands: `history …`: what is recorded, whether it is whole, and forgetting one subject of it. In: a database's history. Out: text, JSON. Only
// `forget` writes: with the writer's lock, and so without a daemon.
import { boundAddressOf } from '../compose/history.ts';
import { composeAuditWriter } from '../compose/record.ts';
import { digestOf } from '../domain/digest.ts';
import { demandOneToChange, resolveName } from '../domain/resolve-name.ts';
import { SUBJECT_KINDS, type SubjectRef } from '../domain/subjects.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import { forgetSubject } from '../history/files/forget.ts';
import { historyDays } from '../history/files/history-days.ts';
import { historyFolderOf } from '../history/files/segment-files.ts';
import { verifyHistory } from '../history/files/verify.ts';
import { filled } from '../operator/filled.ts';
import { showHidden } from '../report/index.ts';
import { systemIds } from '../system/ids.ts';
import { actorHere } from './actor.ts';
import { chosenName } from './chosen-name.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, write } from './io.ts';
import { sizeText } from './size-text.ts';

const FORMATS = ['text', 'json'] as const;

export async function historyListCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const folder = historyFolderOf(databaseOf(io, options).beside);
  const days = historyDays(folder);
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0);
  if (format === 'json') {
    write(io, options, JSON.stringify({ folder, bytes, days }, null, 2));
    return 0;
  }
  const row = (day: string, ...rest: (number | string)[]) =>
    [day.padEnd(10), ...rest.map((cell) => String(cell).padStart(8))].join('  ');
  const lines = [
    row('day', 'runs', 'files', 'size', 'base'),
    ...days.map(({ day, runs, files, bytes: size, hasBase }) =>
      row(day, runs, files, sizeText(size), hasBase ? 'yes' : 'no'),
    ),
  ];
  const none = [`nothing is recorded in ${folder}`];
  write(io, options, (days.length === 0 ? none : [...lines, '', `${folder}: ${sizeText(bytes)}`]).join('\n'));
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
