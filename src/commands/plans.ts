// commands: `plan`, `approve`, `reject`, `apply`: a sealed plan and its life. Through the daemon when one is active.
import { type Composition, composeEngine } from '../compose/compose.ts';
import type { Config } from '../config/config.ts';
import { answerPlan } from '../operator/answer-plan.ts';
import { applyPlan } from '../operator/apply-plan.ts';
import { planLine, showHidden, views } from '../report/index.ts';
import { namingApi } from './api-fault.ts';
import { configOf } from './config-of.ts';
import { type CommonOptions, type Io, outputOf, write } from './io.ts';
import { daemonOver } from './other-rules.ts';
import { progressOf } from './progress.ts';
import { type RunOptions, runCommand } from './run.ts';

const FORMATS = ['text', 'json'] as const;

/** A plan as the HTTP endpoint shows it, with the results of its intents when they were applied. */
interface AnsweredPlan {
  plan: { id: string; status: string };
  applied?: {
    intents: { action: string; target: string; outcome?: string | null; status: string; note?: string | null }[];
    refused: { action: string; target: string; reason: string }[];
  };
}

/** A dry run whose report names its plan. */
export async function planCommand(io: Io, options: RunOptions): Promise<number> {
  return runCommand(io, { ...options, mode: 'dry-run' });
}

export async function answerCommand(
  io: Io,
  planId: string,
  answer: 'approve' | 'reject',
  options: CommonOptions & { reason?: string },
): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const { reason } = options;
  const answered = await throughDaemonOr(io, options, `${planId}/${answer}`, { reason }, async ({ engine }) => ({
    plan: await answerPlan(engine, planId, answer, 'command line', reason),
  }));
  return writeAnswer(io, options, format, answered);
}

/** Exit code 3: part of it was refused, failed, or is in doubt. */
export async function applyCommand(io: Io, planId: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const answered = await throughDaemonOr(io, options, `${planId}/apply`, {}, async ({ engine }) => {
    const { plan, intents, refused } = await applyPlan(engine, planId, 'command line');
    return { plan, applied: { intents: intents.map(views.intent), refused } };
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
  const config = configOf(io, options);
  const daemon = await daemonOver(io, config, options);
  if (!daemon) return withEngine(io, config, here);
  const [plan, verb] = path.split('/') as [string, string];
  const text = await daemon.call('POST', `/api/plans/${encodeURIComponent(plan)}/${verb}`, body);
  const { applied, ...rest } = JSON.parse(text) as AnsweredPlan['plan'] & { applied: AnsweredPlan['applied'] | null };
  return { plan: rest, ...(applied ? { applied } : {}) };
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
  const { plan, applied } = answered;
  const lines = [
    planLine(plan, applied),
    ...(plan.status === 'approved'
      ? [`nothing of it is done yet: \`trustward apply ${plan.id}\` applies it, or reports what prevents that`]
      : []),
    ...(applied?.intents ?? []).map(
      ({ action, target, outcome, status, note }) =>
        `  ${action} ${target}: ${outcome ?? status}${note ? ` (${note})` : ''}`,
    ),
    ...(applied?.refused ?? []).map(({ action, target, reason }) => `  ${action} ${target}: refused, ${reason}`),
  ];
  write(io, options, format === 'json' ? JSON.stringify(answered, null, 2) : lines.map(showHidden).join('\n'));
  if (!applied) return 0;
  const done = applied.intents.every(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed');
  return done && applied.refused.length === 0 ? 0 : 3;
}
