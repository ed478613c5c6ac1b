// endpoint: what `/readyz` shows of an organization, and of the process that has several. In: the state of the database, what waits for workers. Out:
// checks. INVARIANT: they are public: those of the process name no organization, and count none.
import type { Composition } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { auditChecks, changeWindowChecks, databaseCheck, rulesCheck, stopChecks } from '../daemon/readiness.ts';
import type { Jobs } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import type { OrganizationHolder } from '../organizations/organization-holder.ts';

/** A server that is frozen refuses nothing, and whoever asks wants to know within seconds. */
const ANSWER_MS = 3_000;
const NO_ANSWER: ReadyCheck = { name: 'database', ok: false, text: 'PostgreSQL does not answer; see the log' };

/** A run takes seconds, and others may go first. */
const WAITS_LONG_MS = 60_000;

type Counting = Pick<Jobs, 'counts'>;

export function readinessOf(composition: Composition, jobs: Counting): Promise<ReadyCheck[]> {
  return inTime(composition.clock, checksOf(composition, jobs));
}

/** `server`: of the process. `holder`: undefined without a folder of organizations. */
export function readinessOfProcess(
  server: Pick<PostgresServer, 'health'> & { pool: Pick<PostgresServer['pool'], 'demandWritable'> },
  jobs: Counting,
  holder: Pick<OrganizationHolder, 'refusal'> | undefined,
  clock: Pick<Clock, 'sleep'>,
): Promise<ReadyCheck[]> {
  return inTime(clock, checksOfProcess(server, jobs, holder));
}

async function inTime(clock: Pick<Clock, 'sleep'>, checks: Promise<ReadyCheck[]>): Promise<ReadyCheck[]> {
  const done = new AbortController();
  const late = clock.sleep(ANSWER_MS, done.signal).then(
    () => [NO_ANSWER],
    () => [],
  );
  try {
    return await Promise.race([checks, late]);
  } finally {
    done.abort();
  }
}

async function checksOf({ config, engine, rules, health }: Composition, jobs: Counting): Promise<ReadyCheck[]> {
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

async function checksOfProcess(
  { pool, health }: Parameters<typeof readinessOfProcess>[0],
  jobs: Counting,
  holder: Parameters<typeof readinessOfProcess>[2],
): Promise<ReadyCheck[]> {
  const isReached = await pool.demandWritable().then(
    () => true,
    () => false,
  );
  const fault = health.fault();
  const since = fault && `${fault.text}; since ${timeText(fault.since)}`;
  const broken = since ?? (isReached ? undefined : NO_ANSWER.text);
  const isRefused = holder?.refusal !== undefined;
  const text = isRefused
    ? 'the folder was refused, and the last good set stays; `trustward organizations check` and the log have the details'
    : 'in force as they are in the folder';
  return [
    { name: 'database', ok: broken === undefined, text: broken ?? 'it answers' },
    await jobsCheck(jobs),
    ...(holder ? [{ name: 'organization files', ok: !isRefused, text, isPartial: true as const }] : []),
  ];
}

/** Reading and stopping need no worker: it is a part of the work. */
async function jobsCheck(jobs: Counting, organization?: string): Promise<ReadyCheck> {
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
