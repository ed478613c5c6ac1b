// endpoint: what `/readyz` shows of an organization, and of the process that has several. In: the state of the database, what waits for workers. Out:
// checks. INVARIANT: they are public: those of the process name no organization and count none, except to who may see all of them.
import type { Composition } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { auditChecks, changeWindowChecks, databaseCheck, rulesCheck, stopChecks } from '../daemon/readiness.ts';
import { lineOf } from '../domain/errors.ts';
import type { Jobs } from '../domain/jobs.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import type { OrganizationHolder } from '../organizations/organization-holder.ts';
import { organizationsCheck } from '../organizations/ready-check.ts';

/** A run takes seconds, and others may go first. */
const WAITS_LONG_MS = 60_000;

export async function readinessOf(
  { config, engine, rules, health }: Composition,
  jobs: Pick<Jobs, 'counts'>,
): Promise<ReadyCheck[]> {
  const { store } = engine;
  const { organization } = config.database as { organization: string };
  return [
    await databaseCheck(store, health),
    rulesCheck(rules),
    await jobsCheck(jobs, organization),
    ...auditChecks(engine),
    ...(await stopChecks(store)),
    ...(await changeWindowChecks(store, config.windows.freeze, engine.clock.nowMs())),
    { name: 'mode', ok: true, text: engine.daemonMode },
  ];
}

export async function readinessOfProcess(
  { pool, health }: PostgresServer,
  jobs: Pick<Jobs, 'counts'>,
  holder: Pick<OrganizationHolder, 'all' | 'refusal'> | undefined,
  isNamed: boolean,
): Promise<ReadyCheck[]> {
  const reached = await pool.query('SELECT 1').then(
    () => undefined,
    (error: unknown) => lineOf(error),
  );
  const fault = health.fault();
  const since = fault && `${fault.text}; since ${timeText(fault.since)}`;
  const broken = reached === undefined ? since : 'PostgreSQL does not answer; see the log';
  return [
    { name: 'database', ok: broken === undefined, text: broken ?? 'it answers' },
    await jobsCheck(jobs),
    ...(holder ? [filesCheck(holder, isNamed)] : []),
  ];
}

function filesCheck(holder: Pick<OrganizationHolder, 'all' | 'refusal'>, isNamed: boolean): ReadyCheck {
  const { ok, text } = organizationsCheck(holder);
  const unnamed = ok
    ? 'in force as they are in the folder'
    : 'the folder was refused, and the last good set stays; `trustward organizations check` and the log have the details';
  return { name: 'organization files', ok, text: isNamed ? text : unnamed, isPartial: true };
}

/** Reading and stopping need no worker: it is a part of the work. */
async function jobsCheck(jobs: Pick<Jobs, 'counts'>, organization?: string): Promise<ReadyCheck> {
  const check = { name: 'jobs', isPartial: true as const };
  try {
    const counts = await jobs.counts();
    const own = counts.filter((one) => organization === undefined || one.organization === organization);
    // What waits behind work under way is not forgotten.
    const isForgotten = own.some(({ waitingMsMax, underWay }) => waitingMsMax > WAITS_LONG_MS && underWay === 0);
    if (!isForgotten) return { ...check, ok: true, text: 'workers take them' };
    const text = `some wait for more than ${WAITS_LONG_MS / 1_000} s: look whether workers (\`trustward worker\`) run and log no fault`;
    return { ...check, ok: false, text };
  } catch {
    return { ...check, ok: false, text: 'they cannot be read; see the log' };
  }
}
