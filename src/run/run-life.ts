// run: a run's beginning and end in the store and in the audit.
import { formatDuration } from '../domain/duration.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Run, RunRequest } from '../domain/run.ts';
import { type Engine, isClockRight, type RunRules } from './engine.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';
import { modeAfter } from './silence.ts';

/** A run that is not stored yet. */
export type NewRun = Omit<Run, 'seq'>;

export function newRun(
  engine: Engine,
  request: Pick<RunRequest, 'mode' | 'trigger' | 'rules'>,
  rules: RunRules,
  startedAt = engine.clock.nowMs(),
): NewRun {
  const { mode, silentSince } = modeAfter(engine.silence, request.mode);
  return {
    id: engine.ids.next(),
    mode,
    silentSince,
    daemonMode: engine.daemonMode,
    trigger: request.trigger,
    rules: rules.rules.map((rule) => rule.id),
    ...(request.rules && { scoped: true }),
    ruleSetHash: rules.hash,
    rulesDir: engine.rulesDir,
    startedAt,
    finishedAt: undefined,
    status: 'running',
    error: undefined,
    demo: engine.demo,
  };
}

export async function beginRun(
  { store }: Pick<Engine, 'store'>,
  run: NewRun,
  { by, onceId }: Pick<RunRequest, 'by' | 'onceId'> = {},
): Promise<Run> {
  const { id, mode, silentSince, daemonMode, trigger, rules, ruleSetHash: ruleSet } = run;
  const body = { run: id, mode, silentSince, daemonMode, trigger, by, rules, ruleSet };
  return store.beginRun(run, [{ kind: 'run.started', body }], onceId);
}

/** Errors: AppError `api_unreachable` when every rule lacks a source: then nothing was judged. */
export function demandJudged(run: Pick<Run, 'rules'>, pulled: PulledSnapshot): void {
  if (run.rules.length > 0 && pulled.unjudged.length === run.rules.length) throw nothingJudged(pulled);
}

/** Errors: as demandJudged. */
export async function completeRun(engine: Engine, run: Run, pulled: PulledSnapshot): Promise<Run> {
  demandJudged(run, pulled);
  const finished = { ...run, status: 'completed', finishedAt: engine.clock.nowMs() } as const;
  await engine.store.finishRun(finished, [{ kind: 'run.finished', body: { run: run.id, status: 'completed' } }]);
  // A look between two whole runs is no sign that whole runs go on, and leaves the tidying to them.
  if (run.countsWith === undefined) {
    if (engine.silence) engine.silence.since = undefined;
    await removeOld(engine);
  }
  await sealAudit(engine, run);
  await engine.afterwards?.();
  return finished;
}

/**
 * Removes a few at a time, so that no run takes long for it. The run is over: a failure is logged, and the next run tries again.
 */
async function removeOld(engine: Engine): Promise<void> {
  const { store, log } = engine;
  try {
    await store.dropPlanIntents();
    // It is irreversible: no clock counts here unless the server agrees with it.
    if (!isClockRight(engine)) return;
    const olderByMs = keptMs(engine);
    const removed = await store.removeOldRuns(olderByMs);
    if (removed === undefined || removed.runs === 0) return;
    const { runs, decisions } = removed;
    const age = formatDuration(olderByMs);
    log.info({ runs, decisions }, `${runs} runs older than ${age} were removed; the audit keeps their entries`);
  } catch (error) {
    log.error({}, `old runs could not be removed: ${lineOf(error)}`);
  }
}

/** No shorter than what acting looks back for: attempts of a day, of a cooldown, and plans that wait. */
function keptMs({ settings: { keepRunsMs, planTtlMs }, active }: Engine): number {
  return Math.max(keepRunsMs, planTtlMs, DAY_MS, ...active().rules.map(({ cooldownMs }) => cooldownMs));
}

const DAY_MS = 86_400_000;

/** The run is over and recorded: a failed checkpoint does not undo it, and the next one covers it. */
async function sealAudit(engine: Engine, run: Run): Promise<void> {
  try {
    await engine.checkpointer?.seal();
  } catch (error) {
    engine.log.error({ run: run.id }, `the audit could not be sealed: ${lineOf(error)}`);
  }
}

/** A fault that several sources share is reported once, for all of them, and without the path of each. */
function nothingJudged(pulled: PulledSnapshot): AppError {
  const byCause = new Map<string, { source: string; text: string }[]>();
  for (const { source, state, reasons } of Object.values(pulled.snapshot.sources)) {
    if (state !== 'failed') continue;
    for (const { text } of reasons) {
      const ownText = text.startsWith(`${source}: `) ? text.slice(source.length + 2) : text;
      const cause = ownText.replace(/^`[A-Z]+ [^`]*`: /, '');
      byCause.set(cause, [...(byCause.get(cause) ?? []), { source, text }]);
    }
  }
  const causes = [...byCause].map(([cause, those]) =>
    those.length === 1 ? those[0]?.text : `${those.map(({ source }) => source).join(', ')}: ${cause}`,
  );
  return new AppError('api_unreachable', `nothing was judged: ${causes.join('; ')}`);
}

/** Records why a run broke off. When the store itself failed, the rethrown error reports it. */
export async function abortRun(engine: Engine, run: Run, error: unknown): Promise<void> {
  const line = lineOf(error);
  const aborted: Run = { ...run, status: 'aborted', finishedAt: engine.clock.nowMs(), error: line };
  try {
    await engine.store.finishRun(aborted, [{ kind: 'run.aborted', body: { run: run.id, error: line } }]);
    await sealAudit(engine, run);
  } catch (second) {
    engine.log.error({ run: run.id }, `the end of a run could not be recorded: ${lineOf(second)}`);
  }
  await engine.afterwards?.();
}
