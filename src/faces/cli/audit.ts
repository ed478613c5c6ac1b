// cli: `audit …` except its list: verifying and exporting the record (also while a daemon writes), and an operator's
// changes of it, which are recorded in it: archiving, accepting a restored backup, a new key (only without a daemon).

import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { jsonPieces } from '../../base/json.ts';
import { DAY_MS, timeText } from '../../base/time.ts';
import type { AuditCheck, AuditEntry } from '../../domain/audit-entry.ts';
import { databaseName } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { EVENT_SCHEMAS, type EventSchema, liveEventsOf } from '../../domain/live-event.ts';
import {
  type ArchiveBound,
  acceptTables,
  archiveAudit,
  archiveFolderOf,
  exportAudit,
  type FollowBegin,
  type Followed,
  followAudit,
  type TablesAccepted,
  verifyExport,
} from '../../engine/audit/archive.ts';
import type { RestoreAccepted } from '../../engine/audit/checkpointer.ts';
import { publicKeyFileOf, readPublicKeys } from '../../engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../../engine/audit/sources.ts';
import { filled } from '../../engine/operate/commands.ts';
import { type AuditWriter, composeAuditWriter, composeVerification } from '../../runtime/compose/opened.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/run-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import type { SqlReader } from '../../store/reader.ts';
import { OpenedFile } from '../../store/sqlite/opened-file.ts';
import { auditCheckText } from '../report/lists-text.ts';
import { actorHere } from './daemon-client.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, write, writeText } from './io.ts';

/** Dates are UTC: `2026-11-01`, or with a time as in `2026-11-01T12:00:00Z`. Errors: AppError `usage`. */
function archiveBoundOf(text: string): ArchiveBound {
  if (/^[1-9]\d{0,15}$/.test(text)) return { beforeSeq: Number(text) };
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(\.\d{1,3})?Z)?$/.test(text);
  const beforeMs = isDate ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(beforeMs)) return { beforeMs };
  throw new AppError('usage', `--before is \`${text}\`: expected an entry's number, or a date such as 2026-11-01`);
}

// `audit export --follow`: the export goes on as entries are committed, also while a daemon writes.

const LOOK_EVERY_MS = 250;

interface FollowOptions extends CommonOptions {
  /** The last entry that the reader has already. */
  after?: string;
}

/** @param from the first entry, without `--after`. */
async function followedExport(
  io: Io,
  options: FollowOptions,
  from: number,
  schema: EventSchema | undefined,
  write: (pieces: AsyncIterable<string>) => Promise<void>,
): Promise<number> {
  const database = databaseOf(io, options);
  const reader = await composeReader(database);
  const file = database.kind === 'sqlite' ? new OpenedFile(database.file) : undefined;
  const ending = new AbortController();
  void io.untilStopped().then(() => ending.abort());
  const followed: Followed = {
    address: await reader.address(),
    entriesFrom: (seq) => reader.auditFrom(seq),
    entry: async (seq) => (await reader.audit({ afterSeq: seq - 1, limit: 1 })).find((one) => one.seq === seq),
    headSeq: async () => (await reader.auditHead()).seq,
    checkpointLinesAfter: (size) => reader.checkpointLinesAfter(size),
    write: schema && ((entries) => eventLines(reader, entries, schema)),
    goOn: async () => {
      await systemClock.sleep(LOOK_EVERY_MS, ending.signal).catch(() => {}); // being stopped
      if (file) demandInPlace(file, databaseName(database));
      return !ending.signal.aborted;
    },
  };
  try {
    await write(followAudit(followed, beginOf(options, from)));
    return 0;
  } finally {
    await reader.close();
  }
}

function beginOf({ after }: FollowOptions, from: number): FollowBegin {
  if (after === undefined) return { from };
  if (!/^\d{1,15}$/.test(after))
    throw new AppError('usage', `--after is \`${after}\`: expected the number of an entry, or 0`);
  return { after: Number(after) };
}

function demandInPlace(file: OpenedFile, database: string): void {
  try {
    file.demandInPlace();
  } catch (error) {
    const text = `database \`${database}\` was deleted or replaced: what is there now may be another record; check it, then follow it anew`;
    throw new AppError('store_failed', text, { cause: error });
  }
}

// The result of `audit verify` as JSON for programs; the result of accepting a restored backup, and what an operator
// has to check before going on.

function tablesAcceptedText({ text, plans }: TablesAccepted): string {
  return [
    `accepted: ${text}; the audit records the tables as they are now`,
    `everything is stopped, and ${expiredText(plans)}: runs judge and report, and call nothing before \`resume\``,
    'check first who changed the rows, and what is in force now: `exempt list`, `claims list`, `tokens list`',
    'next: `trustward run --mode dry-run` shows what a resume would do; read it, then `trustward resume --reason …`',
  ].join('\n');
}

function expiredText(plans: number): string {
  return plans === 1 ? '1 waiting plan expired' : `${plans} waiting plans expired`;
}

/** What the backup cannot know: shown here, once, to the operator who decides. */
function restoreAcceptedText({ aside, plans, stop }: RestoreAccepted): string {
  return [
    `accepted: the checkpoint file outside now belongs to this database${aside ? `; the former ones are in ${aside}` : ''}`,
    `everything is stopped, and ${expiredText(plans)}: runs judge and report, and call nothing before \`resume\``,
    'this database does not know what happened after its backup:',
    '  what was reversed or rejected: runs now hold it as `stopped`; exempt it, or it is done again',
    '  exemptions and stops: those added later are gone, those ended later are back (`exempt list`)',
    '  tokens: those revoked later are valid again (`tokens list`)',
    `  attempts: until ${timeText(stop.at + DAY_MS)} the 24-hour ceilings do not count the forgotten ones`,
    'next: `trustward run --mode dry-run` shows what a resume would do; read it, then `trustward resume --reason …`',
  ].join('\n');
}

function auditCheckJson(check: AuditCheck): string {
  return JSON.stringify({ ...check, bad: check.bad ?? null }, null, 2);
}

interface AuditVerifyOptions extends CommonOptions {
  /** An export to verify instead of the database. */
  file?: string;
  publicKey?: string;
}

/** Exit code 1 names the first bad entry or checkpoint. */
export async function auditVerifyCommand(io: Io, options: AuditVerifyOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { file, publicKey } = options;
  if (file !== undefined && publicKey === undefined) {
    throw new AppError('usage', '--file needs --public-key FILE: an export is verified with the public key alone');
  }
  const check =
    file === undefined
      ? await composeVerification(databaseOf(io, options), { publicKey })
      : await verifyExport(linesOf(file), readPublicKeys(publicKey as string));
  write(io, options, format === 'json' ? auditCheckJson(check) : auditCheckText(check));
  return check.ok ? 0 : 1;
}

async function* linesOf(file: string): AsyncIterable<string> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new AppError('usage', `--file: \`${file}\` cannot be read (${code})`);
  }
}

// Exports in others' schemas: a line for each event, and nothing to verify them with.

async function eventLines(reader: SqlReader, entries: readonly AuditEntry[], schema: EventSchema): Promise<string> {
  const { eventIn } = await import('../report/other-schemas.ts');
  const live = await liveEventsOf(reader, entries);
  const events = entries.flatMap((entry) => eventIn(schema, entry, live.get(entry.seq)) ?? []);
  return events.map((event) => `${[...jsonPieces(event)].join('')}\n`).join('');
}

async function* exportedIn(schema: EventSchema, reader: SqlReader, from: number): AsyncIterable<string> {
  for await (const entries of reader.auditFrom(from)) yield await eventLines(reader, entries, schema);
}

interface AuditExportOptions extends FollowOptions {
  from?: string;
  follow?: boolean;
}

export async function auditExportCommand(io: Io, options: AuditExportOptions): Promise<number> {
  if (options.after !== undefined && !options.follow)
    throw new AppError('usage', '--after goes with --follow: without it, give the first entry with --from');
  if (options.after !== undefined && options.from !== undefined)
    throw new AppError('usage', '--after and --from are both given: give one of them');
  const from = countOf(options.from ?? '1', '--from', Number.MAX_SAFE_INTEGER);
  const format = outputOf(options, ['ndjson', ...EVENT_SCHEMAS], 'ndjson', 'ndjson');
  const schema = format === 'ndjson' ? undefined : format;
  if (schema) io.err(`events as ${schema}: \`audit verify\` cannot verify them; for that, export without --format\n`);
  const write = (pieces: AsyncIterable<string>) => writePieces(io, options.out, pieces);
  if (options.follow) return followedExport(io, options, from, schema, write);
  return withReader(composeReader(databaseOf(io, options)), async (reader) => {
    if (schema) {
      await write(exportedIn(schema, reader, from));
      return 0;
    }
    const checkpointLines = (await reader.checkpointLines()) ?? [];
    const pieces = exportAudit({
      address: await reader.address(),
      entries: reader.auditFrom(from),
      checkpointLines,
      readable: true,
    });
    await write(pieces);
    return 0;
  });
}

/** In pieces: an export of years is larger than one text may be. 0600: it names people and devices. */
async function writePieces(io: Io, out: string | undefined, pieces: AsyncIterable<string>): Promise<void> {
  if (out === undefined) {
    for await (const piece of pieces) if (piece !== '') io.out(piece);
    return;
  }
  const handle = openSync(out, 'w', 0o600);
  try {
    for await (const piece of pieces) {
      const bytes = Buffer.from(piece);
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    }
  } finally {
    closeSync(handle);
  }
}

interface AuditChangeOptions extends CommonOptions {
  reason: string;
}

export async function acceptRestoreCommand(io: Io, options: AuditChangeOptions): Promise<number> {
  return changing(io, options, {}, async ({ checkpointer }, why) => {
    const accepted = await checkpointer.acceptRestore(why);
    return accepted === undefined
      ? 'nothing to accept: the checkpoints outside are those of this database'
      : restoreAcceptedText(accepted);
  });
}

export async function acceptTablesCommand(io: Io, options: AuditChangeOptions): Promise<number> {
  return changing(io, options, {}, async (writer, why) => {
    const accepted = await acceptTables(writer, why);
    return accepted === undefined
      ? 'nothing to accept: the tables are those that the audit records'
      : tablesAcceptedText(accepted);
  });
}

export async function newKeyCommand(io: Io, options: AuditChangeOptions): Promise<number> {
  const { beside } = databaseOf(io, options);
  return changing(io, options, { newKey: true }, async ({ store, checkpointer }, why) => {
    const keyId = [...readPublicKeys(publicKeyFileOf(beside)).keys()].at(-1);
    await store.appendAudit([{ kind: 'audit.key_replaced', body: { keyId, ...why } }]);
    await checkpointer.seal();
    return `checkpoints are signed by key ${keyId} from now on: copy ${publicKeyFileOf(beside)} to where you verify`;
  });
}

export async function auditArchiveCommand(io: Io, options: AuditChangeOptions & { before: string }): Promise<number> {
  const bound = archiveBoundOf(options.before);
  const { beside } = databaseOf(io, options);
  return changing(io, options, {}, async ({ store, checkpointer, clock }, why) => {
    const check = await verifyAudit(auditSourcesOf(beside, store, clock));
    if (!check.ok) throw new AppError('conflict', `nothing is archived: ${auditCheckText(check)}`);
    const keys = readPublicKeys(publicKeyFileOf(beside));
    const segment = await archiveAudit({ store, keys, folder: archiveFolderOf(beside) }, bound, why);
    await checkpointer.seal();
    return segment
      ? `archived: entries ${segment.from} to ${segment.to} lie in ${segment.file}, verified, and are out of the database`
      : `nothing to archive: no checkpoint covers entries before ${options.before}`;
  });
}

async function changing(
  io: Io,
  options: AuditChangeOptions,
  writing: { newKey?: boolean },
  work: (writer: AuditWriter, why: { by: string; reason: string }) => Promise<string>,
): Promise<number> {
  const why = { by: actorHere(), reason: filled(options.reason, 'reason', 'say why, for the audit') };
  const writer = await composeAuditWriter(databaseOf(io, options), writing);
  try {
    writeText(io, `${await work(writer, why)}\n`);
    return 0;
  } finally {
    await writer.close();
  }
}
