// cli: `audit list`: reading only, also while a daemon writes.

import type { AuditEntryShown } from '../../contract/nouns.ts';
import type { Input } from '../../contract/table.ts';
import { auditText } from '../report/lists-text.ts';
import { type CommonOptions, type Io, lineWidthOf, outputOf, write } from './io.ts';
import { inputFrom, operations } from './operations.ts';
import { readPages } from './operator-lists.ts';

export async function auditListCommand(io: Io, options: CommonOptions & { limit: string }): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const asked: Input<'listAudit'> = inputFrom('listAudit', options);
  const { rows } = await readPages<AuditEntryShown>(options, async (page) => {
    const { entries, next } = await operations(io, options).listAudit({ ...asked, ...page });
    return { rows: entries, total: 0, next: next === null ? null : String(next) };
  });
  write(
    io,
    options,
    format === 'json' ? JSON.stringify({ entries: rows }, null, 2) : auditText(rows, lineWidthOf(options)),
  );
  return 0;
}
