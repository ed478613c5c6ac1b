// web: the way to the entries of the audit about a target. In: the target, and words that lead there. Out: a link; only the words for a
// name that is longer than an address may be, since the link would lead nowhere.

import type { Child } from 'hono/jsx';
import { Link } from '../../report/html/link.tsx';
import { addressOf } from '../address.ts';

/** What the page of the audit takes. */
const TARGET_MAX = 1_000;

export function AuditLink({ target, children }: { target: string; children: Child }) {
  if (target.length > TARGET_MAX) return <span>{children}</span>;
  return <Link href={addressOf('/audit', { target })}>{children}</Link>;
}
