// commands: `plan`, `approve`, `reject`, `apply`: a sealed plan and its life. Through the daemon when one is active.
import { type Composition, composeEngine } from '../compose/compose.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';
import { answerPlan, approvePart } from '../operator/answer-plan.ts';
import { applyPlan } from '../operator/apply-plan.ts';
import { planLine, plural, showHidden, views } from '../report/index.ts';
import { actorHere } from './actor.ts';
import { namingApi } from './api-fault.ts';
import { configOf } from './config-of.ts';
import { type CommonOptions, type Io, outputOf, write } from './io.ts';
import { daemonOver } from './other-rules.ts';
import { isApproved, type PartOptions, selectionOf } from './plan-question.ts';
import { progressOf } from './progress.ts';
import { type RunOptions, runCommand } from './run.ts';

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
