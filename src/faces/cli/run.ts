// cli: `plan`, `approve`, `reject`, `apply`: a sealed plan and its life. Through the daemon when one is active.

import { shownName } from '../../base/text.ts';
import type { PlanShown } from '../../contract/nouns.ts';
import type { Report } from '../../contract/report.ts';
import type { Input, Operations, Output } from '../../contract/table.ts';
import { AppError } from '../../domain/errors.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import { answerCommand, type Plan, type PlannedIntent, type PlanSelection } from '../../domain/plan.ts';
import { REPORT_FORMATS } from '../../domain/replay.ts';
import type { RecordReader, ReportReader } from '../../domain/store-ports.ts';
import { chooseFrom } from '../../engine/approve/plans.ts';
import { runCycle } from '../../engine/cycle.ts';
import { whatIf } from '../../engine/run/what-if.ts';
import { composeEngine, composeWhatIf } from '../../runtime/compose/compose.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import type { Config } from '../../runtime/config/config.ts';
import { buildReport } from '../report/build-report.ts';
import { outcomeName } from '../report/decision-words.ts';
import { countText, plainText, plural, showHidden, whoLine } from '../report/fact-text.ts';
import { countLines, partWords, planLine } from '../report/plan-view.ts';
import { configOf, evidenceOf, remoteOf, withSettings } from './config-of.ts';
import { actorHere, type DaemonClient, findDaemon, namingApi } from './daemon-client.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { type ActiveFolder, does, otherThanActive, progressOf } from './operations.ts';
import { renderReport } from './report.ts';

// What a person at a terminal reads before a plan is approved, and the question.

interface PartOptions extends CommonOptions {
  rule?: string[];
  only?: string[];
  except?: string[];
  digest?: string;
  yes?: boolean;
}

function selectionOf({ rule = [], only = [], except = [] }: PartOptions): PlanSelection {
  return { rules: rule, only, except };
}

/**
 * The digest of what was shown; undefined without a yes. A plan that does not wait is not asked about: approving it says why. Errors: AppError `usage` for a
 * part that it does not have.
 */
async function askedAbout(io: Io, planId: string, options: PartOptions): Promise<{ digest?: string } | undefined> {
  if (!io.ask || options.yes) return {};
  const remote = await remoteOf(io, options);
  if (remote) return askedOf(io, await remote.getPlan({ id: planId }), options);
  const reader = await composeReader(databaseOf(io, options));
  try {
    const plan = await reader.plan(planId);
    if (plan?.status !== 'pending') return {};
    const read = options.digest === undefined ? plan : await reader.planAt(plan.id, options.digest);
    return read ? await askedOf(io, read, options) : {};
  } finally {
    await reader.close();
  }
}

type ReadPlan = Pick<Plan, 'id' | 'digest' | 'intents' | 'status'>;

async function askedOf(io: Io, read: ReadPlan, options: PartOptions): Promise<{ digest?: string } | undefined> {
  if (!io.ask || read.status !== 'pending') return {};
  const { chosen } = chooseFrom(read, selectionOf(options));
  const head = `plan ${read.id}: ${partWords(chosen.length, read.intents.length)}`;
  io.err(`${[head, ...countLines(chosen), ...targetLines(chosen)].map(showHidden).join('\n')}\n`);
  const answer = await io.ask('approve? [y/N] ');
  return /^y(es)?$/i.test(answer.trim()) ? { digest: read.digest } : undefined;
}

const NAMED_MAX = 10;

/** `    SERIAL-1: Hugo's MacBook, hugo@example.com (4f1c…)`, the first ten, and how many are left. */
function targetLines(intents: PlanShown['intents'] | readonly PlannedIntent[]): string[] {
  const named = intents.slice(0, NAMED_MAX).map(({ action, target, effect }) => {
    const devices = effect.devices.slice(0, NAMED_MAX).map((device) => plainText(whoLine(device)));
    return `    ${action} ${shownName(target)}${devices.length === 0 ? '' : `: ${devices.join('; ')}`}`;
  });
  const left = intents.length - named.length;
  return left === 0 ? named : [...named, `    and ${countText(left)} more`];
}

// `run`: one run, and its report.

interface RunOptions extends CommonOptions {
  rule?: string[];
}

/** `next`: what a person may do then, below a report as text. */
export async function runCommand(
  io: Io,
  options: RunOptions,
  next: (report: Report) => string[] = () => [],
): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  const remote = await remoteOf(io, options);
  const report = remote ? await runThere(remote, options) : await runOn(io, options);
  const written = await renderReport(report, format, widthOf(options));
  const steps = format === 'text' ? next(report) : [];
  write(io, options, steps.length === 0 ? written : [written.trimEnd(), '', 'NEXT', ...steps].join('\n'));
  return exitCodeOfReport(report);
}

async function runOn(io: Io, options: RunOptions): Promise<Report> {
  const config = await configOf(io, options);
  const daemon = await findDaemon(config, options);
  const active = await otherThanActive(io, config, options, daemon);
  if (active) return whatIfOver(io, config, options, active);
  return daemon ? runThrough(io, daemon, config, options) : runHere(io, config, options);
}

/** Its own mode caps the run. Errors: AppError `usage` for rules that are not there. */
function runThere(remote: Operations, { mode = 'dry-run', rule, rules }: RunOptions): Promise<Report> {
  if (rules !== undefined)
    throw new AppError(
      'usage',
      'an endpoint runs its own rules: leave out --rules, or try the rules where their history is',
    );
  return reportOfRun(remote, { mode: mode as Input<'triggerRun'>['mode'], rules: rule, wait: true });
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
function exitCodeOfReport(report: Report): number {
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
  const composition = await composeEngine(config, allowed, options.rule, io.ending, progressOf(io, config), {
    part: 'actor',
    isOnce: true,
  });
  const { engine, ending, close } = composition;
  try {
    await ending.until('the sources of facts', composition.given.readSettled(ending.asked));
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
  const { remoteOperations } = await import('../../contract/client.ts');
  const mode = config.mode as Input<'triggerRun'>['mode'];
  return reportOfRun(remoteOperations(daemon), { mode, rules: options.rule, wait: true });
}

async function reportOfRun(remote: Operations, asked: Input<'triggerRun'>): Promise<Report> {
  const { id } = await remote.triggerRun(asked);
  const report = await remote.getReport({ id });
  if (report.run.status === 'completed') return report;
  // As without a daemon: an aborted run is one line, and `report` shows how far it came.
  throw new AppError('api_answer', `run ${report.run.seq} was aborted: ${report.run.error ?? 'see its log'}`);
}

/** A dry run whose report names its plan, and ends with what a person does with it. */
export async function planCommand(io: Io, options: RunOptions): Promise<number> {
  return runCommand(io, { ...options, mode: 'dry-run' }, stepsAfter);
}

function stepsAfter({ plan: { id, digest, intents, status }, run }: Report): string[] {
  if (run.whatIf)
    return ['  These rules are not the active ones: `trustward rules diff OLD NEW` compares both over recorded time.'];
  if (id === null || status !== 'pending')
    return ['  There is nothing to approve. `trustward inbox` shows what waits for you.'];
  return [
    `  ${answerCommand('approve', { id, digest })}`,
    `    approves ${intents === 1 ? 'its action' : `all ${countText(intents)} actions`}; \`--only TARGET\` a part of them`,
    `  ${answerCommand('reject', { id, digest })}`,
    `  trustward plans ${id}`,
    '    shows each action with its facts',
  ];
}

/** Exit code 3: the person at the terminal was asked and did not say yes, so the plan waits on. */
export async function approveCommand(io: Io, id: string, options: PartOptions): Promise<number> {
  outputOf(options, ['text', 'json'] as const, 'text');
  const asked = await askedAbout(io, id, options);
  if (!asked) {
    io.err('nothing is approved: the plan waits on\n');
    return 3;
  }
  return does(io, options, 'approvePlan', { id, ...asked }, { text: answerLines, exitCode: exitCodeOf });
}

export async function rejectCommand(io: Io, id: string, options: CommonOptions): Promise<number> {
  return does(io, options, 'rejectPlan', { id }, { text: answerLines });
}

/** Exit code 3: part of it was refused, failed, or is in doubt. */
export async function applyCommand(io: Io, id: string, options: CommonOptions): Promise<number> {
  return does(io, options, 'applyPlan', { id }, { text: answerLines, exitCode: exitCodeOf });
}

function answerLines({ applied, ...plan }: Output<'applyPlan'> & Partial<Output<'approvePlan'>>): string[] {
  const { rest, missed = [] } = plan;
  return [
    ...(rest ? [`plan ${rest.id} has the rest and waits: ${plural(rest.intents.length, 'action')}`] : []),
    ...missed.map(({ action, target, reason }) => `  ${action} ${target}: not answered, ${reason}`),
    rest && !applied
      ? `plan ${plan.id} is ${plan.status}: ${plural(plan.intents.length, 'action')}`
      : planLine(plan, applied ?? undefined),
    ...(plan.status === 'pending' && plan.agreed?.missing ? [`it needs ${plan.agreed.missing}`] : []),
    ...(plan.status === 'approved' && !applied ? targetLines(plan.intents) : []),
    ...(plan.status === 'approved'
      ? [`nothing is done yet: \`trustward apply ${plan.id}\` applies it, or reports what prevents that`]
      : []),
    ...outcomeLines(applied?.intents ?? []),
    ...(applied?.needless ?? []).map(({ action, target, reason }) => `  ${action} ${target}: released (${reason})`),
    ...(applied?.refused ?? []).map(({ action, target, reason }) => `  ${action} ${target}: refused, ${reason}`),
  ];
}

/** What did not succeed first, and ten at most. */
function outcomeLines(intents: NonNullable<Output<'applyPlan'>['applied']>['intents']): string[] {
  const sorted = [...intents].sort((one, other) => Number(isDone(one)) - Number(isDone(other)));
  const shown = sorted.filter((one, at) => at < NAMED_MAX || !isDone(one));
  const left = intents.length - shown.length;
  return [
    ...shown.map(
      ({ action, target, outcome, status, note }) =>
        `  ${action} ${target}: ${outcomeName(outcome ?? status)}${note ? ` (${note})` : ''}`,
    ),
    ...(left === 0 ? [] : [`  and ${countText(left)} more that succeeded`]),
  ];
}

function isDone({ outcome }: { outcome: string | null }): boolean {
  return outcome === 'succeeded' || outcome === 'confirmed';
}

function exitCodeOf({ applied }: Pick<Output<'applyPlan'>, 'applied'>): number {
  if (!applied) return 0;
  return applied.intents.every(isDone) && applied.refused.length === 0 ? 0 : 3;
}
