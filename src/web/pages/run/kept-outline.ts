// web: the outline of the report that was read last, kept while nothing has changed: narrowing a report, or turning its pages, groups the
// same ten thousand decisions again. In: a run. Out: its outline, never an old one.
import { statusAt } from '../../../domain/plan.ts';
import type { RunRecord } from '../../../domain/store.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { buildOutline } from '../../../report/build-report.ts';
import type { Report } from '../../../report/report.ts';

/**
 * INVARIANT: what a report shows changes only together with an audit entry; only the end of a plan comes by itself. Evidence of rules is of
 * the time when the outline was made.
 */
export function keptOutlines({
  reader,
  clock,
  evidence,
}: Pick<HttpDeps, 'reader' | 'clock' | 'evidence'>): (run: RunRecord) => Promise<Report> {
  let kept: { run: string; head: number; report: Report } | undefined;
  return async (run) => {
    const { seq: head } = await reader.auditHead();
    if (kept?.run === run.id && kept.head === head && !hasExpired(kept.report, clock.nowMs())) return kept.report;
    const report = await buildOutline(reader, run, evidence);
    kept = { run: run.id, head, report };
    return report;
  };
}

function hasExpired({ plan: { status, expiresAt } }: Report, nowMs: number): boolean {
  if (status === null || expiresAt === null) return false;
  return statusAt({ status, expiresAt: Date.parse(expiresAt) }, nowMs) !== status;
}
