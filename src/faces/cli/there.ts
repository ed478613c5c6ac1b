// cli: what the reading commands show of an endpoint on another machine (`--endpoint`): from its operations, since no database is here. In: the operations
// there, options. Out: the lists that the same commands print of a database, with what an endpoint shows of them.
import type { PlanShown } from '../../contract/nouns.ts';
import type { Input, Operations } from '../../contract/table.ts';
import { actorText } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { answerCommand, type PlanStatus } from '../../domain/plan.ts';
import { timeWords } from '../report/decision-words.ts';
import { plural, showHidden, whole } from '../report/fact-text.ts';
import { shownDecisionsText } from '../report/lists-text.ts';
import { countLines } from '../report/plan-view.ts';
import { readableSummary } from '../report/summary/sections.ts';
import { documentText } from '../report/text.ts';
import { type CommonOptions, type Io, lineWidthOf, widthOf, write } from './io.ts';
import { minuteOf, writeList } from './operator-lists.ts';

type Limited = CommonOptions & { limit: string };
type Filter = 'rule' | 'subject' | 'target' | 'decision' | 'action' | 'owner' | 'since';

/** Errors: AppError `usage`. */
function unasked(what: string, instead: string): never {
  throw new AppError('usage', `${what} is not asked of an endpoint: ${instead}`);
}

function writeJson(io: Io, options: CommonOptions, answer: object): number {
  write(io, options, JSON.stringify(answer, null, 2));
  return 0;
}

export async function runsThere(
  remote: Operations,
  io: Io,
  options: Limited & { since?: string; status?: string },
): Promise<number> {
  if (options.since !== undefined || options.status !== undefined)
    unasked('--since or --status', 'leave it out, and use --limit');
  const { runs } = await remote.listRuns({ limit: options.limit });
  return writeList(io, options, {
    name: 'runs',
    rows: runs,
    head: ['Run', 'Started', 'Trigger', 'Mode', 'Status'],
    cells: ({ seq, startedAt, trigger, mode, status, error }) => [
      ...[String(seq), whole(minuteOf(startedAt)), trigger, mode],
      [status, ...(error === null ? [] : [error])],
    ],
  });
}

export async function decisionsThere(
  remote: Operations,
  io: Io,
  options: Limited & { [Name in Filter]?: string },
  format: 'text' | 'json' | 'csv',
): Promise<number> {
  if (format === 'csv') unasked('--format csv', 'expected text, json');
  const { rule, subject, target, decision, action, owner, since, limit } = options;
  const asked = { rule, subject, target, action, owner, since, limit };
  const { decisions } = await remote.listDecisions({
    ...asked,
    decision: decision as Input<'listDecisions'>['decision'],
  });
  if (format === 'json') return writeJson(io, options, { decisions });
  write(io, options, shownDecisionsText(decisions, lineWidthOf(options)));
  return 0;
}

export async function plansThere(
  remote: Operations,
  io: Io,
  options: Limited,
  { planId, status }: { planId: string | undefined; status: PlanStatus | undefined },
): Promise<number> {
  if (planId !== undefined) {
    const plan = await remote.getPlan({ id: planId });
    if (options.format === 'json') return writeJson(io, options, plan);
    write(io, options, planLines(plan).map(showHidden).join('\n'));
    return 0;
  }
  const { plans } = await remote.listPlans({ status, limit: options.limit });
  return writeList(io, options, {
    name: 'plans',
    rows: plans,
    head: ['Plan', 'Status', 'Made', 'What', 'Until'],
    spare: ['Until'],
    cells: ({ id, status, createdAt, intents, expiresAt }) => [
      ...[whole(id), status, whole(minuteOf(createdAt))],
      countLines(intents).map((line) => line.trim()),
      whole(minuteOf(expiresAt)),
    ],
  });
}

function planLines({ intents, createdAt, expiresAt, needs, ...plan }: PlanShown): string[] {
  const decided = plan.decidedBy === null ? '' : `, answered by ${actorText(plan.decidedBy)}`;
  const isOpen = plan.status === 'pending';
  return [
    `Plan ${plan.id} is ${plan.status}: ${plural(intents.length, 'action')}, made ${timeWords(createdAt)}, until ${timeWords(expiresAt)}${decided}.`,
    ...(needs ? [`It needs ${needs}.`] : []),
    ...countLines(intents),
    ...intents.map(({ action, target, reasonText }) => `  ${action} ${target}: ${reasonText}`),
    ...(isOpen ? [answerCommand('approve', plan), answerCommand('reject', plan)] : []),
  ];
}

export async function summaryThere(
  remote: Operations,
  io: Io,
  options: CommonOptions & { since: string },
  format: 'text' | 'json' | 'md',
): Promise<number> {
  if (format === 'md') unasked('--format md', 'expected text, json');
  const summary = await remote.getSummary({ since: options.since });
  if (format === 'json') return writeJson(io, options, summary);
  write(io, options, documentText(readableSummary(summary), widthOf(options)));
  return 0;
}
