// cli: `plan`, `approve`, `reject`, `apply`: a sealed plan and its life. Through the daemon when one is active.

import type { Report } from '../../contract/report.ts';
import { AppError } from '../../domain/errors.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { PlanSelection } from '../../domain/plan.ts';
import { type Progress, REPORT_FORMATS } from '../../domain/replay.ts';
import type { RecordReader, ReportReader } from '../../domain/store-ports.ts';
import { chooseFrom } from '../../engine/approve/plans.ts';
import { runCycle } from '../../engine/cycle.ts';
import { answerPlan, applyPlan, approvePart } from '../../engine/operate/plans.ts';
import { whatIf } from '../../engine/run/what-if.ts';
import { realFolders } from '../../rules/active/rule-holder.ts';
import { type Composition, composeEngine, composeWhatIf } from '../../runtime/compose/compose.ts';
import { composeReader, readIfAny } from '../../runtime/compose/reader.ts';
import type { Config } from '../../runtime/config/config.ts';
import { statusLine } from '../../runtime/system/process.ts';
import { buildReport } from '../report/build-report.ts';
import { plural, showHidden } from '../report/fact-text.ts';
import { views } from '../report/index.ts';
import { countLines, partWords, planLine } from '../report/plan-view.ts';
import { configOf, withSettings } from './config-of.ts';
import { actorHere, type DaemonClient, findDaemon, namingApi } from './daemon-client.ts';
import { evidenceOf } from './evidence-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { renderReport } from './report.ts';

// Whether `--rules` names other rules than the active set: then a run over them is a what-if.

/** The folder of the active rules, and where that comes from. */
interface ActiveFolder {
  dir: string;
  origin: string;
}

/**
 * The active daemon, for an operator command. Errors: AppError `usage` when `--rules` names other rules than the
 * daemon's: it would use its own.
 */
async function daemonOver(io: Io, config: Config, options: CommonOptions): Promise<DaemonClient | undefined> {
  const daemon = await findDaemon(config);
  const active = daemon && (await otherThanActive(io, config, options, daemon));
  if (!active) return daemon;
  const text = `${active.origin} the rules in \`${active.dir}\`, not in \`${options.rules}\`, and would use its own`;
  throw new AppError('usage', `${text}: leave out --rules, or stop the daemon first`);
}

/**
 * The active folder when `--rules` names another one. The active rules are those of the running daemon; without one,
 * those that TRUSTWARD_RULES names, otherwise those of the last run. A database without a run has no active rules yet:
 * any given folder becomes active.
 */
export async function otherThanActive(
  io: Io,
  config: Config,
  options: CommonOptions,
  daemon: DaemonClient | undefined,
): Promise<ActiveFolder | undefined> {
  const { rules } = options;
  if (rules === undefined) return undefined;
  const active = daemon
    ? { dir: daemon.rulesDir ?? '', origin: 'the daemon has' }
    : await withoutDaemon(config, (await withSettings(io, options)).env.TRUSTWARD_RULES?.trim());
  return active === undefined || realFolders(active.dir) === realFolders(rules) ? undefined : active;
}

async function withoutDaemon(config: Config, named: string | undefined): Promise<ActiveFolder | undefined> {
  // Of one that has an older version, the run that follows reports what is wrong with it.
  const last = await readIfAny(config.database, (reader) => reader.latestRun());
  if (last === undefined) return undefined;
  if (named) return { dir: named, origin: 'TRUSTWARD_RULES names' };
  return last.rulesDir === undefined ? undefined : { dir: last.rulesDir, origin: 'the last run used' };
}

// What a person at a terminal reads before a plan is approved, and the question.

interface PartOptions extends CommonOptions {
  rule?: string[];
  only?: string[];
  except?: string[];
  yes?: boolean;
}

function selectionOf({ rule = [], only = [], except = [] }: PartOptions): PlanSelection {
  return { rules: rule, only, except };
}

/** A plan that does not wait is not asked about: approving it says why. Errors: AppError `usage` for a part that it does not have. */
async function isApproved(io: Io, planId: string, options: PartOptions): Promise<boolean> {
  if (!io.ask || options.yes) return true;
  const reader = await composeReader(databaseOf(io, options));
  try {
    const plan = await reader.plan(planId);
    if (plan?.status !== 'pending') return true;
    const { chosen } = chooseFrom(plan, selectionOf(options));
    const head = `plan ${plan.id}: ${partWords(chosen.length, plan.intents.length)}`;
    io.err(`${[head, ...countLines(chosen)].map(showHidden).join('\n')}\n`);
    const answer = await io.ask('approve? [y/N] ');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    await reader.close();
  }
}

function progressOf(io: Io, { log }: Pick<Config, 'log'>): Progress | undefined {
  return log.form === 'plain' ? statusLine.progress(io.env) : undefined;
}

// `run`: one run, and its report.

export interface RunOptions extends CommonOptions {
  rule?: string[];
}

export async function runCommand(io: Io, options: RunOptions): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  const config = await configOf(io, options);
  const daemon = await findDaemon(config);
  const active = await otherThanActive(io, config, options, daemon);
  const report = active
    ? await whatIfOver(io, config, options, active)
    : daemon
      ? await runThrough(io, daemon, config, options)
      : await runHere(io, config, options);
  write(io, options, await renderReport(report, format, widthOf(options)));
  return exitCodeOfReport(report);
}

/** Errors: AppError `usage` for a mode that sends something; as composeWhatIf and whatIf. */
async function whatIfOver(io: Io, config: Config, options: RunOptions, active: ActiveFolder): Promise<Report> {
  if (options.mode !== undefined && options.mode !== 'dry-run') {
    const text = `--rules names \`${options.rules}\` and ${active.origin} \`${active.dir}\`: a run over other rules is a what-if`;
    throw new AppError(
      'usage',
      `${text}, which sends nothing: leave out --mode ${options.mode}, or set TRUSTWARD_RULES`,
    );
  }
  const { engine, stopping, close } = await composeWhatIf(config, options.rule, progressOf(io, config));
  void io.untilStopped().then(() => stopping.abort());
  try {
    const { run, reader } = await namingApi(config, () => whatIf(engine, { rules: options.rule }));
    return await buildReport(reader, run, await evidenceOf(await withSettings(io, options), config.database));
  } finally {
    await close();
  }
}

/** 3: done in mode `approve` or `enforce`, but something waits for a person, a source was untrusted, or it was only a dry run. */
export function exitCodeOfReport(report: Report): number {
  if (report.run.status !== 'completed') return 1;
  if (report.operator.silentSince !== null) return 3;
  if (report.run.mode === 'dry-run') return 0;
  const { hold, failed, unknown, parked } = report.summary;
  return hold + failed + unknown + parked > 0 || !report.snapshot.trusted ? 3 : 0;
}

/**
 * Without a daemon, `--mode` sets how far this run goes and TRUSTWARD_MODE, when set, how far any may go. Errors: as
 * composeEngine and runCycle.
 */
async function runHere(io: Io, config: Config, options: RunOptions): Promise<Report> {
  const allowed = config.modeCap ?? (options.mode ? 'enforce' : config.mode);
  const composition = await composeEngine(config, allowed, options.rule, io.ending, progressOf(io, config));
  const { engine, ending, close } = composition;
  try {
    const request = {
      mode: config.mode,
      trigger: 'command',
      by: actorHere(),
      rules: options.rule,
      waitForDoubts: true,
    } as const;
    const run = await ending.until(
      'the run',
      namingApi(config, () => runCycle(engine, request)),
    );
    if (options.rule === undefined) composition.heartbeat?.beat();
    return await reportOf(engine.store, run.id, await evidenceOf(await withSettings(io, options), config.database));
  } finally {
    await close();
  }
}

async function reportOf(
  reader: ReportReader & Pick<RecordReader, 'run'>,
  runId: string,
  evidence: EvidenceReader | undefined,
): Promise<Report> {
  const run = await reader.run(runId);
  return buildReport(reader, run as NonNullable<typeof run>, evidence);
}

async function runThrough(io: Io, daemon: DaemonClient, config: Config, options: RunOptions): Promise<Report> {
  progressOf(io, config)?.({ phase: 'waiting', what: 'for the run of the daemon' });
  const body = { mode: config.mode, rules: options.rule, wait: true };
  const { id } = JSON.parse(await daemon.call('POST', '/api/runs', body)) as { id: string };
  const report = JSON.parse(await daemon.call('GET', `/api/runs/${id}/report?format=json`)) as Report;
  if (report.run.status === 'completed') return report;
  // As without a daemon: an aborted run is one line, and `report` shows how far it came.
  throw new AppError('api_answer', `run ${report.run.seq} was aborted: ${report.run.error ?? 'see the daemon’s log'}`);
}

const FORMATS = ['text', 'json'] as const;

/** A plan as the HTTP endpoint shows it, with the results of its intents when they were applied. */
interface AnsweredPlan {
  plan: PlanShown;
  /** The plan in which the rest waits, when a part was approved. */
  rest?: PlanShown | null | undefined;
  applied?: {
    intents: { action: string; target: string; outcome?: string | null; status: string; note?: string | null }[];
    refused: { action: string; target: string; reason: string }[];
    needless?: { action: string; target: string; reason: string }[] | undefined;
  };
}

interface PlanShown {
  id: string;
  status: string;
  intents: readonly unknown[];
}

interface GlassOptions {
  reason?: string;
  /** Through the change windows. */
  breakGlass?: boolean;
}

function demandReason({ breakGlass, reason }: GlassOptions): void {
  if (breakGlass && reason === undefined)
    throw new AppError('usage', '--break-glass needs --reason: say why the plan may not wait for the window to end');
}

/** A dry run whose report names its plan. */
export async function planCommand(io: Io, options: RunOptions): Promise<number> {
  return runCommand(io, { ...options, mode: 'dry-run' });
}

/** Exit code 3: the person at the terminal was asked and did not say yes, so the plan waits on. */
export async function approveCommand(io: Io, planId: string, options: PartOptions & GlassOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const { reason, breakGlass } = options;
  demandReason(options);
  const selection = selectionOf(options);
  if (!(await isApproved(io, planId, options))) {
    io.err('nothing is approved: the plan waits on\n');
    return 3;
  }
  const body = { reason, ...selection, breakGlass };
  const answered = await throughDaemonOr(io, options, `${planId}/approve`, body, async ({ engine }) => {
    const approved = await approvePart(engine, planId, selection, actorHere(), reason, breakGlass);
    if (breakGlass) await engine.afterwards?.();
    return approved;
  });
  return writeAnswer(io, options, format, answered);
}

export async function rejectCommand(
  io: Io,
  planId: string,
  options: CommonOptions & { reason?: string },
): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const { reason } = options;
  const answered = await throughDaemonOr(io, options, `${planId}/reject`, { reason }, async ({ engine }) => ({
    plan: await answerPlan(engine, planId, 'reject', actorHere(), reason),
  }));
  return writeAnswer(io, options, format, answered);
}

/** Exit code 3: part of it was refused, failed, or is in doubt. */
export async function applyCommand(io: Io, planId: string, options: CommonOptions & GlassOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  demandReason(options);
  const { breakGlass, reason } = options;
  if (reason !== undefined && !breakGlass)
    throw new AppError('usage', '--reason belongs to --break-glass: an ordinary `apply` has none');
  const body = breakGlass ? { breakGlass, reason } : {};
  const answered = await throughDaemonOr(io, options, `${planId}/apply`, body, async ({ engine }) => {
    const glass = breakGlass && reason !== undefined ? { reason } : undefined;
    const { plan, intents, ...others } = await applyPlan(engine, planId, actorHere(), glass);
    return { plan, applied: { intents: intents.map(views.intent), ...others } };
  });
  return writeAnswer(io, options, format, answered);
}

async function throughDaemonOr(
  io: Io,
  options: CommonOptions,
  path: string,
  body: object,
  here: (composition: Composition) => Promise<AnsweredPlan>,
): Promise<AnsweredPlan> {
  const config = await configOf(io, options);
  const daemon = await daemonOver(io, config, options);
  if (!daemon) return withEngine(io, config, here);
  const [plan, verb] = path.split('/') as [string, string];
  const text = await daemon.call('POST', `/api/plans/${encodeURIComponent(plan)}/${verb}`, body);
  const { applied, rest, ...answered } = JSON.parse(text) as PlanShown & Pick<AnsweredPlan, 'applied' | 'rest'>;
  return { plan: answered, ...(rest && { rest }), ...(applied && { applied }) };
}

/** Without a daemon only the rules' own modes cap what is applied. */
async function withEngine<T>(io: Io, config: Config, work: (composition: Composition) => Promise<T>): Promise<T> {
  const composition = await composeEngine(config, 'enforce', [], io.ending, progressOf(io, config));
  try {
    return await namingApi(config, () => work(composition));
  } finally {
    await composition.close();
  }
}

function writeAnswer(io: Io, options: CommonOptions, format: (typeof FORMATS)[number], answered: AnsweredPlan): number {
  const { plan, rest, applied } = answered;
  const lines = [
    ...(rest ? [`plan ${rest.id} has the rest and waits: ${plural(rest.intents.length, 'action')}`] : []),
    rest && !applied
      ? `plan ${plan.id} is ${plan.status}: ${plural(plan.intents.length, 'action')}`
      : planLine(plan, applied),
    ...(plan.status === 'approved'
      ? [`nothing of it is done yet: \`trustward apply ${plan.id}\` applies it, or reports what prevents that`]
      : []),
    ...(applied?.intents ?? []).map(
      ({ action, target, outcome, status, note }) =>
        `  ${action} ${target}: ${outcome ?? status}${note ? ` (${note})` : ''}`,
    ),
    ...(applied?.needless ?? []).map(({ action, target, reason }) => `  ${action} ${target}: released (${reason})`),
    ...(applied?.refused ?? []).map(({ action, target, reason }) => `  ${action} ${target}: refused, ${reason}`),
  ];
  write(io, options, format === 'json' ? JSON.stringify(answered, null, 2) : lines.map(showHidden).join('\n'));
  if (!applied) return 0;
  const done = applied.intents.every(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed');
  return done && applied.refused.length === 0 ? 0 : 3;
}
