// web: an entry of the audit as a row: when, what, who, and its content. In: an entry. Out: cells.

import type { AuditEntry } from '../../domain/audit-entry.ts';
import { ownText } from '../../domain/facts.ts';
import { auditView } from '../../report/audit-view.ts';
import { Link } from '../../report/html/link.tsx';
import type { Row } from '../../report/html/table.tsx';
import { Term, When, Words } from '../../report/html/text.tsx';
import { entryTexts } from '../../report/lists-text.ts';
import { Whole } from './whole.tsx';

export const AUDIT_COLUMNS = ['Entry', 'When', 'Kind', 'Who', 'What'];

const TEXTS = 4;
/** More is on the entry's own page. */
const BODY_MAX = 1_500;

export function auditRow(entry: AuditEntry): Row {
  const { seq, at, kind, body } = auditView(entry);
  const by = ownText(body, 'by');
  const texts = entryTexts(body, Date.parse(at)).filter((text) => by === undefined || !text.startsWith('by = '));
  return {
    id: `entry-${seq}`,
    cells: [
      <Link href={`/audit/${seq}`} aria-label={`entry ${seq} of the audit`}>
        {seq}
      </Link>,
      <When at={at} />,
      <Term>{kind}</Term>,
      by === undefined ? null : <Words>{by}</Words>,
      <>
        <Words>{texts.slice(0, TEXTS).join('; ')}</Words>
        <details>
          <summary>All of entry {seq}</summary>
          <Whole max={BODY_MAX}>{JSON.stringify(body, null, 2)}</Whole>
        </details>
      </>,
    ],
  };
}
