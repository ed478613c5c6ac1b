// audit: writes entries and checkpoints as NDJSON that can be verified elsewhere with only the public key. In: entries
// in order, checkpoint lines. Out: text in pieces of about a thousand lines. It verifies nothing.
import { type AuditEntry, GENESIS } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { checkpointExportLine, endLine, entryLine, headerLine, readableEntryLine } from './export-format.ts';

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
