// operations: all of them, by the engine of this process. In: what reads, explains, judges and acts. Out: what does one of them for a caller.

import { isoTime } from '../../base/time.ts';
import { demandReference } from '../../contract/operation.ts';
import { replaySchema } from '../../contract/replay.ts';
import { OPERATIONS, type OperationId, type Output, type Performer } from '../../contract/table.ts';
import { runNamed } from '../../domain/decision-filter.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { givenTime } from '../../domain/given-time.ts';
import { demandOne, resolveName } from '../../domain/identity.ts';
import type { Log } from '../../domain/ports.ts';
import type { ReplayBeside } from '../../domain/replay.ts';
import type { Rule } from '../../domain/rule.ts';
import type { Run, RunRequest } from '../../domain/run.ts';
import type { Engine } from '../../engine/run/engine.ts';
import type { HttpDeps } from '../../faces/http/deps.ts';
import { isoOrNull } from '../../faces/report/decision-view.ts';
import { evidenceView } from '../../faces/report/evidence-words.ts';
import { views } from '../../faces/report/index.ts';
import { ruleView, triedView } from '../../faces/report/rule-view.ts';
import { evidenceFolder, evidenceReader } from '../../history/evidence/evidence-files.ts';
import type { Composition } from '../compose/compose.ts';
import { packSources } from '../compose/packing.ts';
import { type ActingId, done, STEERING, type Steering, shown, type Turns } from './acting.ts';
import { type Handlers, READING, type Reading, type ReadingId, requestedRun } from './reading.ts';

/** A run that has begun. `finished` rejects with the error that aborted it, after that is recorded. */
export interface StartedRun {
  run: Run;
  finished: Promise<Run>;
}

/** What judges, reads the platform, or reads what was recorded. */
type Explaining = Pick<
  HttpDeps,
  'replays' | 'rules' | 'ruleRefusal' | 'tryRule' | 'explain' | 'why' | 'whyAt' | 'history' | 'timeline' | 'verifyAudit'
>;

/** Of a composition. */
export function readingOf({ config, engine: { store, clock, active } }: Composition) {
  const evidence = evidenceReader(evidenceFolder(config.database.beside), config.evidence);
  const { requiresReference } = config;
  const packing = async () => packSources(config.database, store);
  const rules = () => active().rules;
  return { reader: store, clock, evidence, packing, rules, changeWindows: config.windows.freeze, requiresReference };
}

export interface Offering extends Reading, Explaining, Steering {
  rules(): readonly Rule[];
  engine: Engine;
  /** Operations that call something. */
  turns: Turns;
  /**
   * Requests a run, one at a time; resolves when it has begun, which may be after others. Equal dry runs that wait become
   * one. Errors: AppError `usage` (a rule that is not active), `busy` (too many wait), `stopped`.
   */
  trigger(request: RunRequest): Promise<StartedRun>;
  log: Pick<Log, 'warn'>;
}

const ANSWERING: Handlers<Offering, Exclude<OperationId, ReadingId | ActingId | keyof typeof STEERING>> = {
  triggerRun: async (deps, { mode, rules, wait }, { by, onceId }) => {
    const unique = rules && [...new Set(rules)];
    const request: RunRequest = { mode, rules: unique, trigger: 'http', waitForDoubts: false, by };
    const { run, finished } = await deps.trigger(onceId === undefined ? request : { ...request, onceId });
    const ended = finished.then(
      () => undefined,
      (error: unknown) => {
        deps.log.warn({ run: run.id, by }, `a run was aborted: ${lineOf(error)}`);
        return error;
      },
    );
    const failure = wait ? await ended : undefined;
    const record = await runNamed(deps.reader, run.id);
    // Its end could not be recorded: the waiting caller must not read that it is still under way.
    if (failure !== undefined && record.status === 'running') throw failure;
    return requestedRun(deps, record);
  },
  getTimeline: async ({ reader, timeline, history }, { kind, id, limit, part }) => {
    const subject = demandOne(await resolveName(reader, id, { kinds: [kind] }), id).subjects[0];
    const acts = () => (part === 'facts' ? [] : history(subject, limit));
    const lines = await (timeline ? timeline(subject, { limit, part }) : acts());
    return { subject: { kind: subject.kind, id: subject.id }, timeline: lines.map(views.history) };
  },
  verifyAudit: async ({ verifyAudit }) => {
    const { ok, entries, head, bad } = await verifyAudit();
    return { ok, entries, head, bad: bad ?? null };
  },
  explainRule: async ({ explain }, { id, subject }) => explain(id, subject),
  why: async ({ why, whyAt, clock }, { of, at }) => {
    if (at === undefined) return why(of);
    const atMs = givenTime(at, 'at', clock.nowMs(), 'before');
    if (!whyAt) throw new AppError('not_found', 'there is no history here');
    return whyAt(of, atMs);
  },
  listRules: async (deps, { limit, after = '' }) => {
    const sorted = [...loadedRules(deps)].sort((one, other) => (one.id < other.id ? -1 : 1));
    const page = sorted.filter(({ id }) => id > after).slice(0, limit);
    const next = page.length < limit ? null : (page.at(-1)?.id ?? null);
    const states = await deps.reader.rollouts();
    return { rules: page.map((rule) => ruleView(rule, states)), total: sorted.length, next };
  },
  getRule: async (deps, { id }) => ruleView(ruleOf(deps, id), await deps.reader.rollouts()),
  tryRule: async ({ tryRule }, { id, text }, { by }) => triedView(await tryRule(id, text, by)),
  beginReplay: async ({ replays }, { way, since, rule }, { by }) => {
    await replays.begin({ way, since, rule }, by);
    return replayShown(await replays.current());
  },
  getReplay: async ({ replays }) => replayShown(await replays.current()),
  getEvidence: async (deps, { id }) => {
    const { mode, hash } = ruleOf(deps, id);
    return { rule: id, mode, evidence: evidenceView({ mode, hash }, deps.evidence) };
  },
};

/** Errors: AppError `not_found`. */
function ruleOf(deps: Explaining, id: string): Rule {
  const rule = loadedRules(deps).find((one) => one.id === id);
  if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
  return rule;
}

/** What was found is read by its schema: another process wrote it. */
function replayShown(replay: ReplayBeside | undefined): Output<'getReplay'> {
  if (!replay) throw new AppError('not_found', 'no replay is kept: POST /api/replays begins one');
  const { asked, by, startedAt, finishedAt, notes = [], found, fault } = replay;
  const times = { startedAt: isoTime(startedAt), finishedAt: isoOrNull(finishedAt) };
  const came = { notes: [...notes], found: found === undefined ? null : replaySchema.parse(found) };
  return { ...asked, rule: asked.rule ?? null, by, ...times, ...came, fault: fault ?? null };
}

/** A folder that was refused and never had a good set is no empty list. Errors: AppError `rules`. */
function loadedRules({ rules, ruleRefusal }: Explaining): readonly Rule[] {
  const [all, refusal] = [rules(), ruleRefusal()];
  if (all.length > 0 || refusal === undefined) return all;
  throw new AppError('rules', ['no rules are loaded, since the folder was refused:', ...refusal].join('\n'));
}

const TAKING_TURNS: Handlers<Offering, ActingId> = {
  approvePlan: inTurn('approvePlan'),
  rejectPlan: inTurn('rejectPlan'),
  applyPlan: inTurn('applyPlan'),
  // Without a release it calls nothing, and counts from the next call on: it waits for no turn.
  addExemption: async (deps, input, asking) => {
    if (input.release) return inTurn('addExemption')(deps, input, asking);
    const what = await done({ engine: deps.engine, appliesAtOnce: false }, 'addExemption', input, asking);
    return shown(deps, 'addExemption', what);
  },
  resolveIntent: inTurn('resolveIntent'),
  resumeRollout: inTurn('resumeRollout'),
  restartRollout: inTurn('restartRollout'),
  checkSubject: inTurn('checkSubject'),
  releaseClaims: inTurn('releaseClaims'),
};

function inTurn<Id extends ActingId>(id: Id): Handlers<Offering, Id>[Id] {
  return ({ turns }, input, { by, groups, touch }) => turns.operate(id, input, { by, groups, touch });
}

const HANDLERS: Handlers<Offering, OperationId> = { ...READING, ...STEERING, ...ANSWERING, ...TAKING_TURNS };

export function performerOf(deps: Offering): Performer {
  return {
    perform: async (id, input, asking) => {
      if (deps.requiresReference) demandReference(OPERATIONS[id], input as object);
      return HANDLERS[id](deps, input, asking);
    },
  };
}
