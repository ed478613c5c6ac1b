// audit: writes entries and checkpoints as NDJSON that can be verified elsewhere with only the public key. In: entries
// in order, checkpoint lines. Out: text in pieces of about a thousand lines. It verifies nothing.
import { type AuditEntry, GENESIS } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { checkpointExportLine, EXPORT_FORMAT, EXPORT_VERSION, type ExportHeader, entryLine } from './export-format.ts';

export interface ExportSource {
  address: string | undefined;
  /** From the first wanted entry. */
  entries: AsyncIterable<AuditEntry[]>;
  checkpointLines: readonly string[];
  /** The last wanted entry; undefined: all. */
  to?: number;
}

/** Each piece ends with a line's end. Errors: those of reading the entries. */
export async function* exportAudit({ address, entries, checkpointLines, to }: ExportSource): AsyncIterable<string> {
  const checkpoints = checkpointLines.map(parseCheckpoint).filter((one) => one !== undefined);
  let next = 0;
  let count = 0;
  let head = GENESIS;
  for await (const batch of entries) {
    const lines: string[] = [];
    for (const entry of batch) {
      if (entry.seq > (to ?? entry.seq)) break;
      if (count === 0) lines.push(headerLine(address, checkpoints, entry));
      lines.push(entryLine(entry));
      while ((checkpoints[next]?.size ?? Number.POSITIVE_INFINITY) < entry.seq) next += 1;
      if (checkpoints[next]?.size === entry.seq) lines.push(checkpointExportLine(checkpoints[next] as Checkpoint));
      count += 1;
      head = entry.hash;
    }
    if (lines.length > 0) yield `${lines.join('\n')}\n`;
    if ((batch.at(-1)?.seq ?? 0) >= (to ?? Number.POSITIVE_INFINITY)) break;
  }
  if (count === 0) yield `${headerLine(address, checkpoints, undefined)}\n`;
  yield `${JSON.stringify({ type: 'end', entries: count, head })}\n`;
}

function headerLine(address: string | undefined, checkpoints: Checkpoint[], first: AuditEntry | undefined): string {
  const header: ExportHeader = {
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    address: address ?? null,
    keyId: checkpoints.at(-1)?.keyId ?? null,
    from: first?.seq ?? 1,
    prev: first?.prev ?? GENESIS,
  };
  return JSON.stringify(header);
}
