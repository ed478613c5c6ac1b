// cli: `audit list`: reading only, also while a daemon writes.

import { auditedTarget } from '../../domain/decision-filter.ts';
import { givenTime } from '../../domain/given-time.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/with-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { auditJson } from '../report/json.ts';
import { auditText } from '../report/lists-text.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

export async function auditListCommand(
  io: Io,
  options: CommonOptions & { limit: string; kind?: string; target?: string; actor?: string; since?: string },
): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const limit = countOf(options.limit, '--limit', 10_000);
  return withReader(composeReader(databaseOf(io, options)), async (reader) => {
    const { kind, actor } = options;
    const target = options.target === undefined ? undefined : await auditedTarget(reader, options.target);
    const since =
      options.since === undefined ? undefined : givenTime(options.since, '--since', systemClock.nowMs(), 'before');
    const entries = await reader.audit({ kind, target, actor, since, limit });
    write(io, options, format === 'json' ? auditJson(entries) : auditText(entries, widthOf(options)));
    return 0;
  });
}
