// report: the audit entries of one kind since a time, a page at a time, with their bodies read. In: a reader. Out: entries, oldest first. Between
// pages others are given way.
import { type AuditKind, entryBody } from '../../domain/audit-entry.ts';
import type { AuditQuery } from '../../domain/audit-store.ts';
import { giveWay } from '../../domain/give-way.ts';
import type { SummaryReader } from './summary.ts';

const PAGE = 500;

export interface ReadEntry {
  seq: number;
  at: number;
  kind: AuditKind;
  body: Readonly<Record<string, unknown>>;
}

export async function* entriesSince(
  reader: Pick<SummaryReader, 'audit'>,
  kind: AuditKind,
  since: number,
  only: Pick<AuditQuery, 'hasActor'> = {},
): AsyncGenerator<ReadEntry> {
  for (let afterSeq = 0; ; ) {
    const page = await reader.audit({ kind, since, afterSeq, limit: PAGE, ...only });
    for (const entry of page)
      if (entry.at >= since) yield { seq: entry.seq, at: entry.at, kind, body: entryBody(entry) };
    if (page.length < PAGE) return;
    afterSeq = page.at(-1)?.seq as number;
    await giveWay();
  }
}

/** A member of a body that is a text; empty otherwise. */
export function textIn({ body }: ReadEntry, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}
