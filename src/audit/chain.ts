// audit: how entries are linked, and how a chain is verified. Pure: the store appends, reports read. SHA-256 over a
// domain byte, the previous hash, the sequence number and the exact stored canonical bytes.
import { hash } from 'node:crypto';
import { type AuditEntry, GENESIS, type LinkEntry } from '../domain/audit-entry.ts';

/** Keeps entry hashes apart from any other use of SHA-256 in this product. */
const DOMAIN_ENTRY = 0x01;
/** Domain byte, previous hash, sequence number. */
const HEAD_BYTES = 1 + 32 + 8;

/** Reused for every entry: with one copy and one call per hash, a million take seconds. */
let scratch = Buffer.alloc(64 * 1024);

export const linkEntry: LinkEntry = (prev, seq, bytes) => {
  if (HEAD_BYTES + bytes.length * 3 > scratch.length) scratch = Buffer.alloc((HEAD_BYTES + bytes.length * 3) * 2);
  scratch[0] = DOMAIN_ENTRY;
  let end = 1 + scratch.write(prev, 1, 32, 'hex');
  end = scratch.writeUInt32BE(Math.floor(seq / 2 ** 32), end);
  end = scratch.writeUInt32BE(seq % 2 ** 32, end);
  end += scratch.write(bytes, end, 'utf8');
  return hash('sha256', scratch.subarray(0, end), 'hex');
};

export interface ChainVerdict {
  ok: boolean;
  /** Entries verified before the first bad one. */
  entries: number;
  head: string;
  /** The first bad entry and what is wrong with it. */
  bad: { seq: number; reason: string } | undefined;
}

/** Walks a chain entry by entry, from its beginning or from an entry whose hash is known otherwise. */
export class ChainWalk {
  constructor(
    public seq = 0,
    public head = GENESIS,
  ) {}

  /** Why this entry cannot be the next one; undefined when it is, and the walk has moved to it. */
  step(entry: AuditEntry): string | undefined {
    const seq = this.seq + 1;
    const fault = faultOf(entry, seq, this.head);
    if (fault !== undefined) return fault;
    this.seq = seq;
    this.head = entry.hash;
    return undefined;
  }
}

/** Verifies entries in order; stops at the first bad one and names it. Memory: one batch. */
export async function verifyChain(batches: AsyncIterable<AuditEntry[]>): Promise<ChainVerdict> {
  const walk = new ChainWalk();
  for await (const batch of batches) {
    for (const entry of batch) {
      const reason = walk.step(entry);
      if (reason !== undefined)
        return { ok: false, entries: walk.seq, head: walk.head, bad: { seq: walk.seq + 1, reason } };
    }
  }
  return { ok: true, entries: walk.seq, head: walk.head, bad: undefined };
}

function faultOf(entry: AuditEntry, seq: number, prev: string): string | undefined {
  if (typeof entry.bytes !== 'string' || typeof entry.kind !== 'string') return 'its content is not text';
  if (entry.seq !== seq) return `entry ${seq} is missing (the next one is ${entry.seq})`;
  if (entry.prev !== prev) return 'it does not follow the entry before it';
  if (entry.hash !== linkEntry(prev, seq, entry.bytes)) return 'its content does not match its hash';
  return statedFault(entry);
}

/** The columns beside the bytes are for reading; they must agree with the bytes. */
function statedFault(entry: AuditEntry): string | undefined {
  // Canonical members are sorted: `at` comes first, and only a signature comes after `kind`, so most entries need not be parsed.
  const { bytes } = entry;
  const end = `,"kind":"${entry.kind}"`;
  const hasKind = bytes.endsWith(`${end}}`) || bytes.startsWith(end, bytes.lastIndexOf(',"signature":"') - end.length);
  if (hasKind && bytes.startsWith(`{"at":${entry.at},"body":`)) return undefined;
  try {
    const stated = JSON.parse(entry.bytes) as { at?: unknown; kind?: unknown };
    if (stated.at !== entry.at) return 'its time column differs from its content';
    if (stated.kind !== entry.kind) return 'its kind column differs from its content';
    return undefined;
  } catch {
    return 'its content is not JSON';
  }
}
