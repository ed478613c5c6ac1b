// worker: what is done for a job: one organization is opened, worked on, and closed again, as a single `run` would. In: a job, the organizations.
// Out: an answer as data. INVARIANT: whatever may call takes the organization's lease first, and releases it at its end.
import { z } from 'zod';
import { type Composition, composeEngine } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { runCycle, watchCycle } from '../cycle.ts';
import { perform } from '../daemon/operations.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { JOB_KIND_NAMES, JOB_KINDS, type Job, type JobHandler, type JobKind, type JobValue } from '../domain/jobs.ts';
import { MODES } from '../domain/mode.ts';
import type { Log } from '../domain/ports.ts';
import { RUN_TRIGGERS, type RunRequest } from '../domain/run.ts';
import type { KnownRules } from '../evaluate/index.ts';
import type { DeskThread } from '../history/record/desk-thread.ts';
import type { LastGoodRules } from '../rule-set/last-good-rules.ts';
import { timesBetween } from '../schedule/schedule.ts';
import { Asks } from '../store/postgres/asks.ts';
import { Ending } from '../system/ending.ts';
import { askedFor, keepFault, keptAnswer } from './asks.ts';
import { auditRules } from './audited-rules.ts';
import type { Organizations } from './organizations.ts';
import { isBrokenOff, type WorkWatch } from './work-watch.ts';

export interface Worked {
  organizations: Organizations;
  server: PostgresServer;
  recording: DeskThread;
  knownRules: KnownRules;
  lastGood: LastGoodRules;
  ending: Ending;
  log: Log;
}

/** More missed times than this are all the same. */
const MISSED_MOST = 10;

export function handlersOf(worked: Worked, watch: WorkWatch): Record<JobKind, JobHandler> {
  const handlers = workOf(worked);
  return Object.fromEntries(
    JOB_KIND_NAMES.map((kind) => [kind, watch.watched((job) => reported(worked, job, handlers[kind]))]),
  ) as typeof handlers;
}

async function reported(worked: Worked, job: Job, handler: JobHandler): Promise<JobValue> {
  const { organization, kind } = job;
  try {
    return await handler(job);
  } catch (error) {
    // What a person asked for is answered to them, but for what is wrong with files of this machine.
    const { isAwaited } = JOB_KINDS[kind];
    if (isAwaited) await answered(worked, job, error);
    if (!isAwaited || (error instanceof AppError && error.code === 'config'))
      worked.log.error(
        { organization, kind },
        `the job \`${kind}\` of \`${organization}\` failed: ${isLost(error, worked) ? LOST : lineOf(error)}`,
      );
    throw error;
  }
}

async function answered({ server, log }: Worked, job: Job, error: unknown): Promise<void> {
  const { organization, kind } = job;
  await keepFault(new Asks(server.pool, organization), job, error).catch((fault: unknown) =>
    log.error({ organization, kind }, `why the job \`${kind}\` failed could not be answered: ${lineOf(fault)}`),
  );
}

const LOST = 'the right to act was lost while it was under way; the next one begins anew';

/** What is under way ends as if the process did: the two are told apart here. */
function isLost(error: unknown, { ending }: Worked): boolean {
  return isBrokenOff(error) && !ending.asked.aborted;
}

function workOf(worked: Worked): Record<JobKind, JobHandler> {
  return {
    run: (job) =>
      acting(worked, job, ({ engine, config }) => whole(engine, { mode: config.mode, trigger: 'schedule' }, job)),
    request: (job) => acting(worked, job, ({ engine }) => whole(engine, REQUESTED.parse(job.payload), job)),
    look: (job) => acting(worked, job, looked),
    operate: (job) =>
      acting(worked, job, async ({ engine }) => {
        const { ask } = ASKED.parse(job.payload);
        const asks = new Asks(worked.server.pool, job.organization);
        const { name, said, form } = await askedFor(asks, ask);
        const done = await perform({ engine, underWay: UNSEEN }, name, said);
        await asks.answer(ask, { form, value: form === 'positional' ? done : keptAnswer(name, done) });
        return null;
      }),
    // Nobody looks between runs as a daemon does. Whoever closes a composition delivers what is due.
    deliver: (job) =>
      opened(worked, job, 'operator', async ({ notifications }) => {
        await notifications.afterwards();
        return null;
      }),
    retention: async (job) => {
      await new Asks(worked.server.pool, job.organization).prune();
      return null;
    },
  };
}

type Asked = Pick<RunRequest, 'mode' | 'trigger'>;

/** The payload of `operate`: what was said is kept apart. */
const ASKED = z.object({ ask: z.string() });

/** The payload of `request`. */
const REQUESTED = z.object({
  mode: z.enum(MODES),
  trigger: z.enum(RUN_TRIGGERS),
  rules: z.array(z.string()).optional(),
  waitForDoubts: z.boolean().default(false),
  by: z.string().exactOptional(),
  onceId: z.string().exactOptional(),
});

/** A daemon shows what it has under way; a worker's jobs are shown by their rows. */
const UNSEEN = { beginPlan: () => {}, end: () => {} };

async function whole(engine: Composition['engine'], asked: Partial<RunRequest> & Asked, job: Job): Promise<JobValue> {
  const request: RunRequest = { rules: undefined, waitForDoubts: false, ...asked };
  const shown: Promise<void>[] = [];
  // Who waits for the run sees it begin, or end: a database that fails here fails the run too, which reports it.
  const run = await runCycle(engine, request, ({ id }) => void shown.push(job.begun({ id }).catch(() => {})));
  await Promise.all(shown);
  const { id, seq, mode } = run;
  engine.log.info({ run: id, seq, mode }, `run ${seq} (${mode}) is done`);
  return { id };
}

/** A look that asks for a whole run makes it at once: it has the organization open, and nobody else acts for it. */
async function looked({ engine, config, heartbeat, clock }: Composition): Promise<JobValue> {
  const { mode, schedule } = config;
  const missedSince = (atMs: number) => timesBetween(schedule, atMs, clock.nowMs(), MISSED_MOST);
  const { result, reason, run } = await watchCycle(engine, { mode, missedSince, mayStartWhole: true });
  if (result !== 'whole') return { result, run: run?.seq ?? null };
  engine.log.info({ reason: reason?.code }, 'watch asks for a whole run');
  const made = await runCycle(engine, { mode, trigger: 'watch', rules: undefined, waitForDoubts: false });
  heartbeat?.beat();
  return { result, run: made.seq };
}

async function acting(
  worked: Worked,
  job: Job,
  work: (composition: Composition) => Promise<JobValue>,
): Promise<JobValue> {
  return opened(worked, job, 'actor', async (composition) => {
    const answer = await work(composition);
    if (job.kind === 'run') composition.heartbeat?.beat();
    return answer;
  });
}

/** INVARIANT: without a good set nothing is judged, undone or carried out; with one, its folder may be refused. Errors: AppError `rules`. */
async function demandRules(composition: Composition): Promise<void> {
  if (composition.keptRules) await auditRules(composition, composition.keptRules);
  composition.engine.active();
}

async function opened(
  { organizations, ending: ofProcess, ...shared }: Worked,
  job: Job,
  part: 'actor' | 'operator',
  work: (composition: Composition) => Promise<JobValue>,
): Promise<JobValue> {
  const { server, recording, knownRules, lastGood } = shared;
  // Who only delivers calls no API: people learn from it that nothing is done without the credential.
  const config = organizations.configOf(job.organization, part === 'operator' ? ['secrets'] : []);
  const ending = new Ending(ofProcess.withinMs);
  const end = () => ending.begin();
  const signals = AbortSignal.any([ofProcess.asked, job.lost]);
  signals.addEventListener('abort', end, { once: true });
  if (signals.aborted) end();
  try {
    const composition = await composeEngine(config, config.mode, [], ending, undefined, {
      part,
      server,
      recording,
      knownRules,
      lastGood,
    });
    try {
      if (part === 'actor') await demandRules(composition);
      return await work(composition);
    } finally {
      await composition.close();
    }
  } finally {
    signals.removeEventListener('abort', end);
  }
}
