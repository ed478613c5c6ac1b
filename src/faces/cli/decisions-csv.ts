// cli: `decisions --format csv`: any number of decisions, read and written in pages. In: the first page, and how to read the one before.
// Out: CSV on standard output as it is read, or a file, whole or not at all (0600).
import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import type { StoredDecision } from '../../domain/decision.ts';
import { decisionsCsvPieces } from '../report/csv.ts';
import { decisionView } from '../report/decision-view.ts';
import { type CommonOptions, type Io, unwritable } from './io.ts';

/** As many as are read at once. */
export const PAGE_MAX = 1_000;
/** Other formats are held whole, and end at 10,000. */
export const CSV_LIMIT_MAX = 100_000_000;

type ReadPage = (before: string, limit: number) => Promise<StoredDecision[]>;

/** @param first of at most PAGE_MAX decisions, newest first. */
export async function writeDecisionsCsv(
  io: Io,
  { out }: Pick<CommonOptions, 'out'>,
  limit: number,
  first: StoredDecision[],
  read: ReadPage,
): Promise<void> {
  const pages = csvPages(first, limit, read);
  if (out === undefined) {
    for await (const page of pages) io.out(page);
    return;
  }
  const isPlace = statSync(out, { throwIfNoEntry: false })?.isFile() === false; // a pipe or a device
  const written = isPlace ? out : `${out}.${process.pid}.new`;
  try {
    const handle = openSync(written, 'w', 0o600);
    try {
      for await (const page of pages) {
        const bytes = Buffer.from(page);
        for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      }
    } finally {
      closeSync(handle);
    }
    if (!isPlace) renameSync(written, out);
  } catch (error) {
    if (!isPlace) rmSync(written, { force: true });
    throw unwritable(out, error);
  }
}

async function* csvPages(first: StoredDecision[], limit: number, read: ReadPage): AsyncGenerator<string> {
  let left = limit;
  let isFirst = true;
  for (let page = first; isFirst || page.length > 0; ) {
    const [head = '', ...rows] = decisionsCsvPieces(page.map(decisionView));
    yield [...(isFirst ? [head] : []), ...rows].join('');
    isFirst = false;
    left -= page.length;
    const last = page.at(-1);
    page =
      last === undefined || left <= 0 || page.length < PAGE_MAX ? [] : await read(last.id, Math.min(left, PAGE_MAX));
  }
}
