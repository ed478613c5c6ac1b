// commands: `audit …` except its list: verifying and exporting the record (also while a daemon writes), and an operator's
// changes of it, which are recorded in it: archiving, accepting a restored backup, a new key (only without a daemon).
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { acceptTables } from '../audit/accept-tables.ts';
import { archiveAudit, archiveFolderOf } from '../audit/archive.ts';
import { exportAudit } from '../audit/export.ts';
import { publicKeyFileOf, readPublicKeys } from '../audit/signing-key.ts';
import { auditSourcesOf } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import { verifyExport } from '../audit/verify-export.ts';
import { composeReader } from '../compose/reader.ts';
import { type AuditWriter, composeAuditWriter, composeVerification } from '../compose/record.ts';
import { withReader } from '../compose/with-reader.ts';
import { AppError } from '../domain/errors.ts';
import { filled } from '../operator/filled.ts';
import { auditCheckText } from '../report/audit-check-text.ts';
import { actorHere } from './actor.ts';
import { archiveBoundOf } from './audit-bound.ts';
import { type FollowOptions, followedExport } from './audit-follow.ts';
import { auditCheckJson, restoreAcceptedText, tablesAcceptedText } from './audit-text.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, write, writeText } from './io.ts';

export interface AuditVerifyOptions extends CommonOptions {
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

export interface AuditExportOptions extends FollowOptions {
  from?: string;
  follow?: boolean;
}

export async function auditExportCommand(io: Io, options: AuditExportOptions): Promise<number> {
  if (options.after !== undefined && !options.follow)
    throw new AppError('usage', '--after goes with --follow: without it, give the first entry with --from');
  if (options.after !== undefined && options.from !== undefined)
    throw new AppError('usage', '--after and --from are both given: give one of them');
  const from = countOf(options.from ?? '1', '--from', Number.MAX_SAFE_INTEGER);
  outputOf({ out: options.out }, ['ndjson'] as const, 'ndjson');
  if (options.follow) return followedExport(io, options, from, (pieces) => writePieces(io, options.out, pieces));
  return withReader(composeReader(databaseOf(io, options)), async (reader) => {
    const checkpointLines = (await reader.checkpointLines()) ?? [];
    const pieces = exportAudit({
      address: await reader.address(),
      entries: reader.auditFrom(from),
      checkpointLines,
      readable: true,
    });
    await writePieces(io, options.out, pieces);
    return 0;
  });
}

/** In pieces: an export of years is larger than one text may be. 0600: it names people and devices. */
async function writePieces(io: Io, out: string | undefined, pieces: AsyncIterable<string>): Promise<void> {
  if (out === undefined) {
    for await (const piece of pieces) io.out(piece);
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

export interface AuditChangeOptions extends CommonOptions {
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
      : `nothing to archive: no checkpoint is over entries before ${options.before}`;
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
