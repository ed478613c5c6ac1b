// endpoint: what `/readyz` shows of an organization, and of the process that has several. In: the state of the database, what waits for workers. Out:
// checks. INVARIANT: they are public: those of the process name no organization and count none, except to who may see all of them.
import type { Composition } from '../compose/compose.ts';
import {
  auditChecks,
  changeWindowChecks,
  databaseCheck,
  rulesCheck,
  sourceChecks,
  stopChecks,
} from '../daemon/readiness.ts';
import type { Jobs } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import type { RunRecord } from '../domain/store.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import type { OrganizationHolder } from '../organizations/organization-holder.ts';
import { organizationsCheck } from '../organizations/ready-check.ts';
import { overdueAfter } from '../schedule/schedule.ts';
import { inTime, jobsCheck, NO_ANSWER, serverCheck } from '../worker/shared-checks.ts';

const ADVICE = 'look whether workers (`trustward worker`) run and log no fault';
/** A run takes seconds, and minutes with a large fleet or a slow API. One whose worker died stays as it is until another worker begins. */
const RUN_MS_MAX = 10 * 60_000;

/** @param lackNamedBy the command that names the credential which cannot be read; undefined: none lacks. */
export function readinessOf(
  composition: Composition,
  jobs: Pick<Jobs, 'counts'>,
  lackNamedBy: string | undefined,
): Promise<ReadyCheck[]> {
  const checks = async () => [...credentialChecks(lackNamedBy), ...(await checksOf(composition, jobs))];
  return inTime(checks(), composition.clock).catch(() => [NO_ANSWER]);
}

/** Reading and stopping need none. */
function credentialChecks(lackNamedBy: string | undefined): ReadyCheck[] {
  if (lackNamedBy === undefined) return [];
  const text = `it cannot be read, so workers do nothing here; \`${lackNamedBy}\` names the file`;
  return [{ name: 'credential', ok: false, text, isPartial: true }];
}

async function checksOf(
  { config, engine, rules, health }: Composition,
  jobs: Pick<Jobs, 'counts'>,
): Promise<ReadyCheck[]> {
  const { store } = engine;
  const { organization } = config.database as { organization: string };
  return [
    await databaseCheck(store, health),
    rulesCheck(rules, false),
    await jobsCheck(jobs, engine.clock, organization),
    scheduleCheck(await store.latestRun(), config.schedule, engine.clock.nowMs()),
    ...auditChecks(engine),
    ...(await sourceChecks(store)),
    ...(await stopChecks(store)),
    ...(await changeWindowChecks(store, config.windows.freeze, engine.clock.nowMs())),
    { name: 'mode', ok: true, text: engine.daemonMode },
  ];
}

/** As long as no worker runs, nobody asks for the scheduled runs either: nothing waits, and all the same nothing is judged. */
export function scheduleCheck(
  last: Pick<RunRecord, 'startedAt' | 'status'> | undefined,
  schedule: string,
  nowMs: number,
): ReadyCheck {
  const check = { name: 'schedule', isPartial: true as const };
  if (!last) return { ...check, ok: false, text: `no run has begun yet: a worker makes the first one; ${ADVICE}` };
  const began = `the last run began ${timeText(last.startedAt)}`;
  const overdue = overdueAfter(schedule, last.startedAt, nowMs);
  const isUnderWay = last.status === 'running' && nowMs - last.startedAt <= RUN_MS_MAX;
  if (!overdue || isUnderWay) return { ...check, ok: true, text: `${began}, and none is late` };
  const still = last.status === 'running' ? ' and is still under way' : '';
  return {
    ...check,
    ok: false,
    text: `${began}${still}, and one has been due since ${timeText(overdue.sinceMs)}: ${ADVICE}`,
  };
}

export async function readinessOfProcess(
  server: Parameters<typeof serverCheck>[0],
  jobs: Pick<Jobs, 'counts'>,
  holder: Pick<OrganizationHolder, 'all' | 'refusal'> | undefined,
  clock: Pick<Clock, 'sleep'>,
  isNamed: boolean,
): Promise<ReadyCheck[]> {
  return [
    await serverCheck(server, clock),
    await jobsCheck(jobs, clock),
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
