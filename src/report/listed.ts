// report: lists as other programs get them, a page at a time, the newest first: the endpoint answers with them, and commands print them. In: a
// reader, filters. Out: a page of views, how many rows there are on all pages, and where the next page begins.
import { coveredBy } from '../domain/exemption-covers.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { PageReader } from '../domain/page-reader.ts';
import { nextOf, type PagedClaims, type RecordReader } from '../domain/record-reader.ts';
import { exemptionView } from './operator-view.ts';
import { claimView } from './plan-view.ts';

/** Errors: AppError `usage` when the row that the page follows is gone. */
export async function claimList(
  reader: Pick<RecordReader, 'newestClaims'>,
  { limit, ...filter }: PagedClaims & { limit: number },
) {
  const { rows, total } = await reader.newestClaims(filter, limit);
  return { claims: rows.map(claimView), total, next: nextOf(rows, limit) };
}

type ExemptionQuery = Pick<Parameters<PageReader['exemptionPage']>[0], 'before' | 'limit'> & { inForce: boolean };

/** `covers` is null where it cannot be known. Errors: AppError `usage` when the row that the page follows is gone. */
export async function exemptionList(
  reader: Pick<PageReader, 'exemptionPage'> & IdentityReader,
  { inForce, ...page }: ExemptionQuery,
  nowMs: number,
) {
  const { rows, total } = await reader.exemptionPage({ ...page, ...(inForce && { inForceAt: nowMs }) });
  const exemptions: (ReturnType<typeof exemptionView> & { covers: Awaited<ReturnType<typeof coveredBy>> | null })[] =
    [];
  for (const one of rows)
    exemptions.push({ ...exemptionView(one, nowMs), covers: (await coveredBy(reader, one)) ?? null });
  return { exemptions, total, next: nextOf(rows, page.limit) };
}
