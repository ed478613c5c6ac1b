// audit: verifies an export on any machine: lines and a public key come in, nothing else is needed. Out: whether it is
// whole, or the first wrong entry or checkpoint. It holds the checkpoints, never the entries.

import type { AuditCheck, AuditFault } from '../domain/audit-check.ts';
import { checkpointLine } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import { ChainWalk } from './chain.ts';
import { checkCheckpoints, type PublicKeys } from './checkpoint.ts';
import {
  EXPORT_FORMAT,
  type ExportLine,
  entryOfLine,
  isReadableRight,
  parseExportHeader,
  parseExportLine,
} from './export-format.ts';
import { faultOfCheckpoint } from './verdict.ts';

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
    `the file does not begin with a line of format \`${EXPORT_FORMAT}\`, version 1: give a file that \`trustward audit export\` wrote`,
  );
}

class ExportWalk {
  private readonly walk: ChainWalk;
  private readonly checkpoints: string[] = [];
  private sealed = 0;
  /** Of the entries that no checkpoint covers yet, by number: one may come late where a running daemon is followed. */
  private readonly recent = new Map<number, string>();
  private hasEnded = false;

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
      notes:
        bad === undefined && unsealed > 0 ? [`the last ${unsealed} entries are not covered by a checkpoint yet`] : [],
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
