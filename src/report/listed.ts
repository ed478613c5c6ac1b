// report: lists as other programs get them, a page at a time, the newest first: the endpoint answers with them, and commands print them. In: a
// reader, filters. Out: a page of views, how many rows there are on all pages, and where the next page begins.
import { type Exemption, isInForce } from '../domain/exemption.ts';
import { coveredBy } from '../domain/exemption-covers.ts';
import type { MemberReader } from '../domain/exemption-members.ts';
import { type IdentityReader, identityText } from '../domain/identity.ts';
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

const JOINED_SHOWN = 3;

export interface JoinedView {
  count: number;
  /** Some of them, one line each. Names in it are as they came: escape it where it is shown. */
  examples: string[];
}

type ListedExemption = ReturnType<typeof exemptionView> & {
  covers: Awaited<ReturnType<typeof coveredBy>> | null;
  joinedLater: JoinedView;
};

/** Nobody joins one that is over. */
export async function joinedView(reader: MemberReader, exemption: Exemption, nowMs: number): Promise<JoinedView> {
  if (!isInForce(exemption, nowMs)) return { count: 0, examples: [] };
  const { count, some } = await reader.joinedLater(exemption, JOINED_SHOWN);
  return { count, examples: some.map(identityText) };
}

/** `2 joined later and wait: …`; undefined when nothing waits. */
export function joinedText({ count, examples }: JoinedView): string | undefined {
  if (count === 0) return undefined;
  const more = count > examples.length ? ` and ${count - examples.length} more` : '';
  return `${count} joined later and wait${count === 1 ? 's' : ''}: ${examples.join('; ')}${more}`;
}

type ExemptionQuery = Pick<Parameters<PageReader['exemptionPage']>[0], 'before' | 'limit'> & { inForce: boolean };

/** `joinedLater` waits for a person. `covers` is null where it cannot be known. Errors: AppError `usage` when the row that the page follows is gone. */
export async function exemptionList(
  reader: Pick<PageReader, 'exemptionPage'> & IdentityReader & MemberReader,
  { inForce, ...page }: ExemptionQuery,
  nowMs: number,
) {
  const { rows, total } = await reader.exemptionPage({ ...page, ...(inForce && { inForceAt: nowMs }) });
  const exemptions: ListedExemption[] = [];
  for (const one of rows) {
    const covers = (await coveredBy(reader, one)) ?? null;
    exemptions.push({ ...exemptionView(one, nowMs), covers, joinedLater: await joinedView(reader, one, nowMs) });
  }
  return { exemptions, total, next: nextOf(rows, page.limit) };
}
