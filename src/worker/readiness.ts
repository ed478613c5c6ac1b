// worker: what its `/readyz` shows. In: the server, the organizations, what is under way here. Out: checks. Nobody but who runs the workers reaches it,
// so it names organizations; why a job failed is left to the log.
import type { PostgresServer } from '../compose/postgres.ts';
import { spanText } from '../domain/age-text.ts';
import type { Jobs, Working } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import { organizationsCheck } from '../organizations/ready-check.ts';
import type { OrganizationLines } from './organization-lines.ts';
import type { Organizations } from './organizations.ts';
import { jobsCheck, serverCheck } from './shared-checks.ts';
import type { WorkWatch } from './work-watch.ts';

export interface WorkerState {
  server: Pick<PostgresServer, 'pool' | 'health'>;
  jobs: Pick<Jobs, 'counts'>;
  organizations: Pick<Organizations, 'holder'>;
  lines: Pick<OrganizationLines, 'now'>;
  watch: WorkWatch;
  /** Undefined: it has not begun yet. */
  working: Pick<Working, 'fetchedAtMs'> | undefined;
  /** Of the process. */
  ending: AbortSignal;
  /** Organizations at the same time. */
  places: number;
  clock: Clock;
}

/** It looks every three seconds. */
const SILENT_MS = 30_000;
/** A run takes seconds, and minutes with a large fleet or a slow API. */
const LONG_MS = 60 * 60_000;
/** Of what fails and what takes long, so many are named. */
const SHOWN_MAX = 20;

export async function readinessOfWorker(state: WorkerState): Promise<ReadyCheck[]> {
  const { server, jobs, organizations, ending, clock } = state;
  const { holder } = organizations;
  return [
    await serverCheck(server, clock),
    fetchingCheck(state),
    underWayCheck(state),
    await jobsCheck(jobs, clock),
    ...(holder ? [{ ...organizationsCheck(holder), isPartial: true as const }] : []),
    ...organizationChecks(state),
    ...(ending.aborted
      ? [{ name: 'stopping', ok: false, text: 'it takes no more jobs, and ends when those under way have ended' }]
      : []),
  ];
}

function fetchingCheck({ working, ending, clock }: WorkerState): ReadyCheck {
  const name = 'fetching';
  if (ending.aborted) return { name, ok: true, text: 'it is being stopped' };
  if (!working) return { name, ok: false, text: 'it has not begun to look for jobs' };
  const silentMs = clock.nowMs() - working.fetchedAtMs();
  if (silentMs <= SILENT_MS) return { name, ok: true, text: 'it looks for jobs' };
  return { name, ok: false, text: `it has not looked for jobs for ${spanText(silentMs)}; see the log` };
}

/** One that hangs keeps its place; the others go on until all places are taken so. */
function underWayCheck({ watch, places }: WorkerState): ReadyCheck {
  const all = watch.underWay();
  const long = all.filter(({ ms }) => ms > LONG_MS);
  const name = 'under way';
  if (long.length === 0) return { name, ok: true, text: `${all.length} of ${places} at once` };
  const shown = long
    .slice(0, SHOWN_MAX)
    .map(({ organization, kind, ms }) => `\`${kind}\` of \`${organization}\` for ${spanText(ms)}`);
  const text = `${shown.join(', ')}${moreText(long.length)}: look whether its Management API hangs, or stop this worker: another one takes over`;
  return { name, ok: false, text, ...(long.length < places && { isPartial: true as const }) };
}

/** Those that cannot be worked for; the others are. */
function organizationChecks(state: WorkerState): ReadyCheck[] {
  const all = failingOrganizations(state);
  const shown = [...all].slice(0, SHOWN_MAX).map(([id, text]) => ({ name: `organization ${id}`, text }));
  const more = all.size - shown.length;
  const rest = more > 0 ? [{ name: 'more organizations', text: `${more} more have a problem: see the log` }] : [];
  return [...shown, ...rest].map((one) => ({ ...one, ok: false, isPartial: true as const }));
}

/** By id: those that are configured, and what is wrong with each. */
export function failingOrganizations({ lines, watch }: Pick<WorkerState, 'lines' | 'watch'>): Map<string, string> {
  const configured = lines.now();
  const known = new Set(configured.map(({ id }) => id));
  const failed = watch.failing().filter(({ organization }) => known.has(organization));
  const found = new Map(
    failed.map(({ organization, kind, at, code }) => [
      organization,
      `\`${kind}\` failed here at ${timeText(at)} (${code}); the log has the reason`,
    ]),
  );
  for (const { id, problem } of configured) if (problem !== undefined) found.set(id, problem);
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function moreText(count: number): string {
  return count > SHOWN_MAX ? ` and ${count - SHOWN_MAX} more` : '';
}
