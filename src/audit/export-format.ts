// audit: the lines of an export (NDJSON), and reading one of them. Format version 1:
//   {"format":"trustward-audit","version":1,"address":…,"keyId":…,"from":N,"prev":HASH}       first
//   {"type":"entry","seq":N,"at":TIME,"kind":"…","body":{…},"prev":HASH,"hash":HASH,"bytes":"…"}
//                                          bytes: the exact text that was hashed; at, kind and body are the same for readers, and may be missing
//   {"type":"checkpoint", and the checkpoint's own fields}                                    after the entry that it is over
//   {"type":"end","entries":N,"head":HASH}                                                    last: a cut file has none
import { z } from 'zod';
import type { AuditEntry } from '../domain/audit-entry.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { isoTime } from '../domain/time-text.ts';

export const EXPORT_FORMAT = 'trustward-audit';
export const EXPORT_VERSION = 1;

const hashText = z.string().regex(/^[0-9a-f]{64}$/);
const position = z.int().min(1);

export const ExportHeader = z.object({
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
export type ExportHeader = z.infer<typeof ExportHeader>;

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
  signature: z.string(),
});
const EndLine = z.object({ type: z.literal('end'), entries: z.int().min(0), head: hashText });
const ExportLine = z.discriminatedUnion('type', [EntryLine, CheckpointLine, EndLine]);
export type ExportLine = z.infer<typeof ExportLine>;

export function entryLine({ seq, prev, hash, bytes }: AuditEntry): string {
  return JSON.stringify({ type: 'entry', seq, prev, hash, bytes });
}

/** With what the bytes say beside them, as JSON, for whoever reads the export. Bytes that are not an entry's stand alone. */
export function readableEntryLine(entry: AuditEntry): string {
  const { seq, prev, hash, bytes } = entry;
  const stated = statedIn(bytes);
  if (!stated) return entryLine(entry);
  const { at, kind, body } = stated;
  const start = JSON.stringify({ type: 'entry', seq, at, kind }).slice(0, -1);
  // INVARIANT: canonical text, as in the bytes: JSON.stringify would turn a number beyond any type into null.
  return `${start},"body":${canonicalJson(body)},${JSON.stringify({ prev, hash, bytes }).slice(1)}`;
}

export function checkpointExportLine(checkpoint: Checkpoint): string {
  return JSON.stringify({ type: 'checkpoint', ...checkpoint });
}

/** Undefined when the text is not a line of an export. */
export function parseExportLine(text: string): ExportLine | undefined {
  return ExportLine.safeParse(parseJson(text)).data;
}

export function parseExportHeader(text: string): ExportHeader | undefined {
  return ExportHeader.safeParse(parseJson(text)).data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function headerLine(header: {
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

export function endLine(entries: number, head: string): string {
  return JSON.stringify({ type: 'end', entries, head });
}

/** Whether what stands beside the bytes, as far as it is there, is what the bytes say. */
export function isReadableRight({ at, kind, body, bytes }: z.infer<typeof EntryLine>): boolean {
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
export function entryOfLine({ seq, prev, hash, bytes }: z.infer<typeof EntryLine>): AuditEntry | undefined {
  const stated = parseJson(bytes) as { at?: unknown; kind?: unknown } | undefined;
  if (typeof stated?.at !== 'number' || typeof stated.kind !== 'string') return undefined;
  return { seq, at: stated.at, kind: stated.kind as AuditEntry['kind'], bytes, prev, hash };
}
