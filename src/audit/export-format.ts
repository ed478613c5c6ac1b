// audit: the lines of an export (NDJSON), and reading one of them. Format version 1:
//   {"format":"trustward-audit","version":1,"address":…,"keyId":…,"from":N,"prev":HASH}       first
//   {"type":"entry","seq":N,"prev":HASH,"hash":HASH,"bytes":"…"}                              the exact bytes that were hashed
//   {"type":"checkpoint", and the checkpoint's own fields}                                    after the entry that it is over
//   {"type":"end","entries":N,"head":HASH}                                                    last: a cut file has none
import { z } from 'zod';
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';

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

/** An exported entry as the chain has it; undefined when its bytes are not an entry's. */
export function entryOfLine({ seq, prev, hash, bytes }: z.infer<typeof EntryLine>): AuditEntry | undefined {
  const stated = parseJson(bytes) as { at?: unknown; kind?: unknown } | undefined;
  if (typeof stated?.at !== 'number' || typeof stated.kind !== 'string') return undefined;
  return { seq, at: stated.at, kind: stated.kind as AuditEntry['kind'], bytes, prev, hash };
}
