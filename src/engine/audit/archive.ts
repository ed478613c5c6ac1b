// audit: archives the oldest entries, in whole checkpointed segments: exported, read back and verified, then removed
// from the database in one transaction with an entry that records it. In: what to archive, and why. Out: the segment,
// or nothing. It never removes an entry that no verified file holds.

import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { syncFolderOf } from '../../base/files.ts';
import { canonicalJson } from '../../base/json.ts';
import { isoTime } from '../../base/time.ts';
import {
  type ActingTableReader,
  type AuditCheck,
  type AuditEntry,
  type AuditFault,
  differencesText,
  GENESIS,
} from '../../domain/audit-entry.ts';
import {
  type ArchivedSegment,
  type Checkpoint,
  type CheckpointReader,
  type CheckpointStore,
  checkpointLine,
} from '../../domain/checkpoint.ts';
import { AppError } from '../../domain/errors.ts';
import { type Stop, stopText } from '../../domain/operator.ts';
import type { Clock } from '../../domain/ports.ts';
import type { AuditReader, RecordReader } from '../../domain/store-ports.ts';
import { ChainWalk, checkCheckpoints, faultOfCheckpoint, type PublicKeys, parseCheckpoint } from './signing-key.ts';
import { TouchWalk } from './touches.ts';

// The lines of an export (NDJSON), and reading one of them.

const EXPORT_FORMAT = 'trustward-audit';
const EXPORT_VERSION = 1;

const hashText = z.string().regex(/^[0-9a-f]{64}$/);
const position = z.int().min(1);

const ExportHeader = z.object({
  format: z.literal(EXPORT_FORMAT),
  version: z.literal(EXPORT_VERSION),
  /** The Management API that the database is bound to. */
  address: z.string().nullable(),
  /** The key of the last checkpoint. */
  keyId: z.string().nullable(),
  from: position,
  /** The hash of the entry before `from`. */
  prev: hashText,
});
type ExportHeader = z.infer<typeof ExportHeader>;

const EntryLine = z.object({
  type: z.literal('entry'),
  seq: position,
  prev: hashText,
  hash: hashText,
  bytes: z.string(),
  at: z.string().optional(),
  kind: z.string().optional(),
  body: z.unknown().optional(),
});
const CheckpointLine = z.object({
  type: z.literal('checkpoint'),
  size: position,
  head: hashText,
  at: z.int(),
  previous: hashText,
  keyId: z.string(),
  tables: z.record(z.string(), z.string()).optional(),
  root: hashText.optional(),
  signature: z.string(),
});
const EndLine = z.object({ type: z.literal('end'), entries: z.int().min(0), head: hashText });
const ExportLine = z.discriminatedUnion('type', [EntryLine, CheckpointLine, EndLine]);
type ExportLine = z.infer<typeof ExportLine>;

function entryLine({ seq, prev, hash, bytes }: AuditEntry): string {
  return JSON.stringify({ type: 'entry', seq, prev, hash, bytes });
}

/** With what the bytes say beside them, as JSON, for whoever reads the export. Bytes that are not an entry's stand alone. */
function readableEntryLine(entry: AuditEntry): string {
  const { seq, prev, hash, bytes } = entry;
  const stated = statedIn(bytes);
  if (!stated) return entryLine(entry);
  const { at, kind, body } = stated;
  const start = JSON.stringify({ type: 'entry', seq, at, kind }).slice(0, -1);
  // INVARIANT: canonical text, as in the bytes: JSON.stringify would turn a number beyond any type into null.
  return `${start},"body":${canonicalJson(body)},${JSON.stringify({ prev, hash, bytes }).slice(1)}`;
}

function checkpointExportLine(checkpoint: Checkpoint): string {
  return JSON.stringify({ type: 'checkpoint', ...checkpoint });
}

/** Undefined when the text is not a line of an export. */
function parseExportLine(text: string): ExportLine | undefined {
  return ExportLine.safeParse(parseJson(text)).data;
}

function parseExportHeader(text: string): ExportHeader | undefined {
  return ExportHeader.safeParse(parseJson(text)).data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headerLine(header: {
  address: string | undefined;
  keyId: string | undefined;
  from: number;
  prev: string;
}): string {
  const { address = null, keyId = null, from, prev } = header;
  return JSON.stringify({
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    address,
    keyId,
    from,
    prev,
  } satisfies ExportHeader);
}

function endLine(entries: number, head: string): string {
  return JSON.stringify({ type: 'end', entries, head });
}

/** Whether what stands beside the bytes, as far as it is there, is what the bytes say. */
function isReadableRight({ at, kind, body, bytes }: z.infer<typeof EntryLine>): boolean {
  if (at === undefined && kind === undefined && body === undefined) return true;
  const stated = statedIn(bytes);
  return (
    stated !== undefined &&
    (at === undefined || at === stated.at) &&
    (kind === undefined || kind === stated.kind) &&
    (body === undefined || canonicalJson(body) === canonicalJson(stated.body))
  );
}

function statedIn(bytes: string): { at: string; kind: string; body: unknown } | undefined {
  const stated = parseJson(bytes) as { at?: unknown; kind?: unknown; body?: unknown } | null | undefined;
  if (!Number.isSafeInteger(stated?.at) || typeof stated?.kind !== 'string' || stated.body === undefined)
    return undefined;
  return { at: isoTime(stated.at as number), kind: stated.kind, body: stated.body };
}

/** An exported entry as the chain has it; undefined when its bytes are not an entry's. */
function entryOfLine({ seq, prev, hash, bytes }: z.infer<typeof EntryLine>): AuditEntry | undefined {
  const stated = parseJson(bytes) as { at?: unknown; kind?: unknown } | undefined;
  if (typeof stated?.at !== 'number' || typeof stated.kind !== 'string') return undefined;
  return { seq, at: stated.at, kind: stated.kind as AuditEntry['kind'], bytes, prev, hash };
}

// Writes entries and checkpoints as NDJSON that can be verified elsewhere with only the public key.

export interface ExportSource {
  address: string | undefined;
  /** From the first wanted entry. */
  entries: AsyncIterable<AuditEntry[]>;
  checkpointLines: readonly string[];
  /** With the bodies as JSON beside the bytes. */
  readable?: boolean;
  /** The last wanted entry; undefined: all. */
  to?: number;
}

/** Each piece ends with a line's end. Errors: those of reading the entries. */
export async function* exportAudit({
  address,
  entries,
  checkpointLines,
  readable,
  to,
}: ExportSource): AsyncIterable<string> {
  const checkpoints = checkpointLines.map(parseCheckpoint).filter((one) => one !== undefined);
  const lineOf = readable ? readableEntryLine : entryLine;
  const keyId = checkpoints.at(-1)?.keyId;
  let next = 0;
  let count = 0;
  let head = GENESIS;
  for await (const batch of entries) {
    const lines: string[] = [];
    for (const entry of batch) {
      if (entry.seq > (to ?? entry.seq)) break;
      if (count === 0) lines.push(headerLine({ address, keyId, from: entry.seq, prev: entry.prev }));
      lines.push(lineOf(entry));
      while ((checkpoints[next]?.size ?? Number.POSITIVE_INFINITY) < entry.seq) next += 1;
      if (checkpoints[next]?.size === entry.seq) lines.push(checkpointExportLine(checkpoints[next] as Checkpoint));
      count += 1;
      head = entry.hash;
    }
    if (lines.length > 0) yield `${lines.join('\n')}\n`;
    if ((batch.at(-1)?.seq ?? 0) >= (to ?? Number.POSITIVE_INFINITY)) break;
  }
  if (count === 0) yield `${headerLine({ address, keyId, from: 1, prev: GENESIS })}\n`;
  yield `${endLine(count, head)}\n`;
}

// Verifies an export on any machine: lines and a public key come in, nothing else is needed.

/** Entries that a checkpoint may come after, at most: far more than are written while one is made. */
const LATE_MAX = 10_000;

/** Errors: AppError `usage` when the first line is not that of an export. */
export async function verifyExport(lines: AsyncIterable<string>, keys: PublicKeys): Promise<AuditCheck> {
  let reading: ExportWalk | undefined;
  let fault: AuditFault | undefined;
  for await (const line of lines) {
    if (!reading) reading = beginExport(line);
    else if (line !== '') fault = reading.take(line);
    if (fault) break;
  }
  if (!reading) throw notAnExport();
  return reading.answer(fault, keys);
}

function beginExport(line: string): ExportWalk {
  const header = parseExportHeader(line);
  if (!header) throw notAnExport();
  return new ExportWalk(header.from, header.prev);
}

function notAnExport(): AppError {
  return new AppError(
    'usage',
    `the file does not begin with a line of format \`${EXPORT_FORMAT}\`, version 1: give a file that \`trustward audit export\` wrote, without --format: events of OCSF and CloudEvents cannot be verified`,
  );
}

class ExportWalk {
  private readonly walk: ChainWalk;
  private readonly checkpoints: string[] = [];
  private sealed = 0;
  /** Of the entries that no checkpoint covers yet, by number: one may come late where a running daemon is followed. */
  private readonly recent = new Map<number, string>();
  private hasEnded = false;
  private readonly touches = new TouchWalk();

  constructor(
    private readonly from: number,
    prev: string,
  ) {
    this.walk = new ChainWalk(from - 1, prev);
  }

  /** What is wrong with the next line; undefined when nothing is. */
  take(text: string): AuditFault | undefined {
    const line = parseExportLine(text);
    if (!line || this.hasEnded)
      return { seq: this.walk.seq + 1, reason: 'cannot be read, or is not a line of an export' };
    switch (line.type) {
      case 'entry':
        return this.takeEntry(line);
      case 'checkpoint':
        return this.takeCheckpoint(line);
      case 'end':
        return this.takeEnd(line);
    }
  }

  answer(found: AuditFault | undefined, keys: PublicKeys): AuditCheck {
    const list = checkCheckpoints(this.checkpoints, keys, this.from > 1);
    const listFault = list.fault && faultOfCheckpoint(list.fault);
    const bad = [found ?? this.endFault(), listFault]
      .filter((one) => one !== undefined)
      .sort((a, b) => a.seq - b.seq)[0];
    const unsealed = this.walk.seq - this.sealed;
    return {
      ok: bad === undefined,
      first: this.from,
      entries: this.walk.seq - this.from + 1,
      head: this.walk.head,
      checkpoints: list.good.length,
      sealed: list.good.at(-1)?.size ?? 0,
      bad,
      tables: [],
      notes: bad
        ? []
        : [
            ...(unsealed > 0 ? [`the last ${unsealed} entries are not covered by a checkpoint yet`] : []),
            ...[this.touches.note() ?? []].flat(),
          ],
    };
  }

  private endFault(): AuditFault | undefined {
    const seq = this.walk.seq + 1;
    if (!this.hasEnded) return { seq, reason: 'is missing, and so is the end line: the file was cut' };
    if (this.sealed === 0)
      return { seq: this.from, reason: 'and all that follow are not signed: there is no checkpoint' };
    return undefined;
  }

  private takeEntry(line: Extract<ExportLine, { type: 'entry' }>): AuditFault | undefined {
    const entry = entryOfLine(line);
    const reason = entry ? this.walk.step(entry) : 'its content is not that of an entry';
    if (reason !== undefined) return { seq: this.walk.seq + 1, reason };
    const untouched = entry && this.touches.step(entry, this.from === 1);
    if (untouched !== undefined) return { seq: line.seq, reason: untouched };
    if (!isReadableRight(line)) return { seq: line.seq, reason: 'what stands beside its bytes is not what they say' };
    this.recent.set(line.seq, line.hash);
    this.forget(line.seq - LATE_MAX);
    return undefined;
  }

  private takeCheckpoint(line: Extract<ExportLine, { type: 'checkpoint' }>): AuditFault | undefined {
    this.checkpoints.push(checkpointLine(line));
    if (this.recent.get(line.size) === line.head) {
      this.forget(line.size);
      this.sealed = line.size;
      return undefined;
    }
    const from = Math.max(this.sealed + 1, this.from);
    const reason = `was not made of the entries from ${from} on that come before it`;
    return { seq: from, checkpoint: line.size, reason };
  }

  /** Up to this entry. They were remembered in order. */
  private forget(seq: number): void {
    for (const one of this.recent.keys()) {
      if (one > seq) break;
      this.recent.delete(one);
    }
  }

  private takeEnd(line: Extract<ExportLine, { type: 'end' }>): AuditFault | undefined {
    this.hasEnded = true;
    const entries = this.walk.seq - this.from + 1;
    if (line.entries === entries && line.head === this.walk.head) return undefined;
    return {
      seq: this.walk.seq + 1,
      reason: `is missing: the end line counts ${line.entries} entries, not ${entries}`,
    };
  }
}

interface ArchiveParts {
  store: Omit<AuditReader, 'auditHead'> &
    CheckpointReader & { removeArchived(segment: ArchivedSegment): Promise<void> };
  keys: PublicKeys;
  /** Made when it does not exist. */
  folder: string;
}

/** Entries before a sequence number, or from before a time (epoch ms). */
export type ArchiveBound = { beforeSeq: number } | { beforeMs: number };

export function archiveFolderOf(databaseFile: string): string {
  return `${databaseFile}.audit-archive`;
}

/**
 * INVARIANT: the caller has verified the whole record, and holds the writer's lock. Undefined: no whole segment is that
 * old. Errors: AppError `store_failed` when the archive cannot be written or does not verify; nothing was removed then.
 */
export async function archiveAudit(
  parts: ArchiveParts,
  bound: ArchiveBound,
  why: Pick<ArchivedSegment, 'by' | 'reason'>,
): Promise<ArchivedSegment | undefined> {
  const { store, keys, folder } = parts;
  const first = (await store.audit({ afterSeq: 0, limit: 1 }))[0];
  const last = first && (await lastCheckpointWithin(store, bound));
  if (!first || !last || last.size < first.seq) return undefined;
  const name = `${String(first.seq).padStart(12, '0')}-${String(last.size).padStart(12, '0')}.ndjson`;
  const file = join(folder, name);
  const digest = await writeSegment(parts, file, first.seq, last.size);
  const check = await verifyExport(createInterface({ input: createReadStream(file) }), keys);
  if (!check.ok || check.sealed !== last.size || check.head !== last.head) {
    throw new AppError(
      'store_failed',
      `the archive \`${file}\` does not verify: nothing was removed from the database`,
    );
  }
  const segment = { from: first.seq, to: last.size, head: last.head, file, digest, ...why };
  await store.removeArchived(segment);
  return segment;
}

async function lastCheckpointWithin(store: ArchiveParts['store'], bound: ArchiveBound) {
  const lines = (await store.checkpointLines()) ?? [];
  for (const line of lines.reverse()) {
    const checkpoint = parseCheckpoint(line);
    // A checkpoint's time is never before that of the entries that it covers.
    const isWithin =
      checkpoint && ('beforeSeq' in bound ? checkpoint.size < bound.beforeSeq : checkpoint.at < bound.beforeMs);
    if (isWithin) return checkpoint;
  }
  return undefined;
}

/** Written to a temporary file, synced, then renamed: a file of this name is whole. Returns its SHA-256. */
async function writeSegment({ store, folder }: ArchiveParts, file: string, from: number, to: number): Promise<string> {
  const address = await store.address();
  const checkpointLines = (await store.checkpointLines()) ?? [];
  const digest = createHash('sha256');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const handle = openSync(`${file}.new`, 'w', 0o600);
    try {
      for await (const piece of exportAudit({ address, entries: store.auditFrom(from), checkpointLines, to })) {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
        digest.update(bytes);
      }
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(`${file}.new`, file);
    syncFolderOf(file);
    return digest.digest('hex');
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = String((error as NodeJS.ErrnoException).code ?? error);
    throw new AppError('store_failed', `the archive \`${file}\` cannot be written (${code})`, { cause: error });
  }
}

// An export that goes on: entries and checkpoints as they are committed, until it is to end.

export interface Followed {
  address: string | undefined;
  entriesFrom(seq: number): AsyncIterable<AuditEntry[]>;
  /** An entry, if the database has it. */
  entry(seq: number): Promise<AuditEntry | undefined>;
  headSeq(): Promise<number>;
  checkpointLinesAfter(size: number): Promise<string[]>;
  /** In others' schemas: it has the events alone, and cannot be verified. Each piece is empty or ends with a line's end. */
  write?: ((entries: readonly AuditEntry[]) => Promise<string>) | undefined;
  /** Waits a moment. False: the export is to end. Errors: AppError when what is followed is no longer there. */
  goOn(): Promise<boolean>;
}

/** From this entry on, or after one that the reader has already. */
export type FollowBegin = { from: number } | { after: number };

/** Each piece ends with a line's end. Errors: AppError `not_found` for entries that are not there (any more); those of reading. */
export async function* followAudit(followed: Followed, begin: FollowBegin): AsyncIterable<string> {
  const start = await startOf(followed, begin);
  let { next, head } = start;
  let size = next - 1; // up to which checkpoints are written
  const key = (await followed.checkpointLinesAfter(0)).map(parseCheckpoint).at(-1)?.keyId;
  const { write } = followed;
  if (!write) yield `${headerLine({ address: followed.address, keyId: key, from: next, prev: head })}\n`;
  // INVARIANT: read once more after the end was asked for: what was committed before is still written.
  for (let isLast = false; ; isLast = !(await followed.goOn())) {
    for await (const batch of followed.entriesFrom(next)) {
      const due = await checkpointsAfter(followed, size);
      const lines: string[] = [];
      for (const entry of batch) {
        if (entry.seq !== next) throw missing(next, entry.seq - 1);
        if (entry.prev !== head) throw another(next);
        lines.push(readableEntryLine(entry));
        const checkpoint = due.find((one) => one.size === entry.seq);
        if (checkpoint) {
          lines.push(checkpointExportLine(checkpoint));
          size = entry.seq;
        }
        head = entry.hash;
        next += 1;
      }
      yield write ? await write(batch) : `${lines.join('\n')}\n`;
    }
    // A checkpoint is made after its last entry, and more entries may have come in between.
    for (const late of write ? [] : await checkpointsAfter(followed, size)) {
      if (late.size >= next) break;
      yield `${checkpointExportLine(late)}\n`;
      size = late.size;
    }
    if (isLast) break;
  }
  if (!write) yield `${endLine(next - start.next, head)}\n`;
}

async function startOf(followed: Followed, begin: FollowBegin): Promise<{ next: number; head: string }> {
  if ('from' in begin) {
    // The first that there is: older ones may be archived.
    for await (const [first] of followed.entriesFrom(begin.from))
      if (first) return { next: first.seq, head: first.prev };
    const end = await followed.headSeq();
    if (begin.from > end + 1) throw beyond(begin.from, end);
    return { next: end + 1, head: (await followed.entry(end))?.hash ?? GENESIS };
  }
  const { after } = begin;
  if (after === 0) return { next: 1, head: GENESIS };
  const end = await followed.headSeq();
  if (after > end) throw beyond(after, end);
  const last = await followed.entry(after);
  if (!last) throw missing(after, after);
  return { next: after + 1, head: last.hash };
}

async function checkpointsAfter(followed: Followed, size: number): Promise<Checkpoint[]> {
  return (await followed.checkpointLinesAfter(size)).map(parseCheckpoint).filter((one) => one !== undefined);
}

function beyond(seq: number, end: number): AppError {
  const text = `entry ${seq} is not there, the audit ends with entry ${end}: this is another database, or a restored one`;
  return new AppError('not_found', `${text}; follow it from its beginning`);
}

function missing(from: number, to: number): AppError {
  const which = from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
  const text = `${which} not in the database any more: read them in \`<database>.audit-archive\`, then go on with \`--after ${to}\``;
  return new AppError('not_found', text);
}

function another(seq: number): AppError {
  return new AppError(
    'conflict',
    `entry ${seq} does not follow the entry before it: check the record with \`trustward audit verify\``,
  );
}

// An operator chooses to go on with tables that somebody changed beside the engine.

export interface TablesAccepted {
  /** What differed, for people. */
  text: string;
  /** How many waiting plans expired. */
  plans: number;
}

export interface AcceptingStore
  extends ActingTableReader,
    Pick<CheckpointStore, 'acceptTables'>,
    Pick<RecordReader, 'stop'> {}

/** Undefined: there was nothing to accept. Errors: AppError `store_failed`. */
export async function acceptTables(
  { store, clock }: { store: AcceptingStore; clock: Pick<Clock, 'nowMs'> },
  { by, reason }: { by: string; reason: string },
): Promise<TablesAccepted | undefined> {
  const differences = await store.tableDifferences();
  if (differences.length === 0) return undefined;
  const text = differencesText(differences);
  const before = await store.stop();
  const former = before ? ` (stopped before: ${stopText(before)})` : '';
  const stop: Stop = { at: clock.nowMs(), by, reason: `changed tables were accepted: ${reason}${former}` };
  const notes = [
    { kind: 'tables.accepted', body: { by, reason, text } },
    { kind: 'stop.set', body: { by, reason: stop.reason, since: stop.at } },
  ] as const;
  return { text, ...(await store.acceptTables({ stop, notes: [...notes] })) };
}
