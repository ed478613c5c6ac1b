// report: the inbox: what waits for a person, whatever it is. In: the store. Out: a page of items, each with since when, why, and the next step,
// as data and as text. INVARIANT: it counts what `inboxCounts` counts, and so does the first sentence of every face.

import { clip, shownName } from '../../base/text.ts';
import { isoTime, spanText, timeText } from '../../base/time.ts';
import type { InboxItemShown } from '../../contract/nouns.ts';
import type { Output } from '../../contract/table.ts';
import { approversText } from '../../domain/approvals.ts';
import { AppError } from '../../domain/errors.ts';
import { type ExemptionRequest, expiresAtOf } from '../../domain/exemption-request.ts';
import { type Intent, nextText, timesRefused } from '../../domain/intent.ts';
import { INBOX_STATES, type InboxState } from '../../domain/operator.ts';
import { answerCommand, type PlannedCount } from '../../domain/plan.ts';
import type { PageReader, PlanLine, RecordReader, WorkReader } from '../../domain/store-ports.ts';
import { actWords, asSentence, countText, listed, plural, verbOf, whole } from './fact-text.ts';
import { paragraph, type TerminalOptions, terminalList } from './terminal-table.ts';

interface StateWords {
  title: string;
  /** Why it is here, and what happens by itself. */
  lead: string;
  /** In a sentence after their number: of one, of several. */
  counted: readonly [string, string];
  noun: string;
}

export const INBOX_WORDS: Readonly<Record<InboxState, StateWords>> = {
  pending: {
    title: 'Plans that wait for a yes',
    lead: 'Nothing of a plan is done before a person approves it.',
    noun: 'plan',
    counted: ['waits for a yes', 'wait for a yes'],
  },
  interrupted: {
    title: 'Plans that were interrupted',
    lead: 'A part was done; applying the plan again does the rest.',
    noun: 'plan',
    counted: ['was interrupted', 'were interrupted'],
  },
  approved: {
    title: 'Approved plans that are not applied yet',
    lead: 'They were approved, and nobody has applied them.',
    noun: 'approved plan',
    counted: ['is not applied yet', 'are not applied yet'],
  },
  asked: {
    title: 'Exemptions that people ask for',
    lead: 'A person asks that a device of theirs is left alone for a time. It protects nothing before an operator grants it.',
    noun: 'request for an exemption',
    counted: ['waits for an answer', 'wait for an answer'],
  },
  parked: {
    title: 'Parked',
    lead: 'Trustward gave up trying by itself: a person has to look.',
    noun: 'action',
    counted: ['is parked and waits for a person', 'are parked and wait for a person'],
  },
  in_doubt: {
    title: 'In doubt',
    lead: 'Whether it was done is not known; meanwhile nothing else is sent to its target.',
    noun: 'action',
    counted: ['is in doubt', 'are in doubt'],
  },
  failed: {
    title: 'Failed and still to be done',
    lead: 'The server could not do it, and its rule still matches.',
    noun: 'action',
    counted: ['failed and is still to be done', 'failed and are still to be done'],
  },
  refused: {
    title: 'Refused by the server',
    lead: 'The server refused it before doing anything (401, 403), and its rule still matches: see whether the credential may do it.',
    noun: 'action',
    counted: [
      'was refused by the server and is still to be done',
      'were refused by the server and are still to be done',
    ],
  },
};

const PLAN_STATES = ['pending', 'interrupted', 'approved'] as const satisfies readonly InboxState[];
type PlanState = (typeof PLAN_STATES)[number];

function isOfPlan(state: InboxState): state is PlanState {
  return (PLAN_STATES as readonly InboxState[]).includes(state);
}

export type InboxItem =
  | { state: PlanState; id: string; plan: PlanLine; counts: readonly PlannedCount[] }
  | { state: 'asked'; id: string; request: ExemptionRequest }
  | { state: Exclude<InboxState, PlanState | 'asked'>; id: string; intent: Intent };

type InboxReader = Pick<RecordReader, 'newestIntents' | 'openFailures' | 'exemptionRequests'> &
  Pick<PageReader, 'planLines' | 'countsOfPlan'> &
  Pick<WorkReader, 'inboxCounts'>;

type Inbox = Output<'listInbox'>;

interface InboxQuery {
  /** Only this one. */
  state?: InboxState | undefined;
  limit: number;
  /** `next` of the page before. */
  before?: string | undefined;
}

/** State by state; in each the newest first, but failures the oldest first. Errors: AppError `usage` for a `before` that no page gave. */
export async function readInbox(reader: InboxReader, { state, limit, before }: InboxQuery) {
  const counts = await reader.inboxCounts();
  const states = INBOX_STATES.filter((one) => state === undefined || one === state);
  const from = before === undefined ? undefined : positionOf(before, states);
  const items: InboxItem[] = [];
  for (const one of states.slice(from?.at ?? 0)) {
    const left = limit - items.length;
    if (left === 0) break;
    const after = one === from?.state ? from.id : undefined;
    if (counts[one] > 0) items.push(...(await itemsOf(reader, one, left, after)));
  }
  const last = items.at(-1);
  const next = items.length < limit || last === undefined ? null : `${last.state}.${last.id}`;
  return { items, counts, total: states.reduce((sum, one) => sum + counts[one], 0), next };
}

function positionOf(before: string, states: readonly InboxState[]) {
  const [state = '', ...id] = before.split('.');
  const at = states.indexOf(state as InboxState);
  if (at === -1 || id.length === 0)
    throw new AppError('usage', `\`before\` is \`${before}\`: give the \`next\` of the page before`);
  return { at, state: states[at], id: id.join('.') };
}

const OUTCOMES = { parked: 'parked', in_doubt: 'unknown' } as const;

async function itemsOf(
  reader: InboxReader,
  state: InboxState,
  limit: number,
  before: string | undefined,
): Promise<InboxItem[]> {
  const page = before === undefined ? {} : { before };
  if (isOfPlan(state)) {
    const plans = await countedPlans(reader, await reader.planLines({ status: state, once: true }, { limit, ...page }));
    return plans.map(({ line, counts }) => ({ state, id: line.id, plan: line, counts }));
  }
  if (state === 'asked') {
    const { rows } = await reader.exemptionRequests({ status: 'waiting', limit, ...page });
    return rows.map((request) => ({ state, id: request.id, request }));
  }
  if (state === 'parked' || state === 'in_doubt') {
    const { rows } = await reader.newestIntents({ outcome: OUTCOMES[state], ...page }, limit);
    return rows.map((intent) => ({ state, id: intent.id, intent }));
  }
  const open = (await reader.openFailures()).filter((one) => timesRefused(one) > 0 === (state === 'refused'));
  const at = before === undefined ? 0 : open.findIndex(({ id }) => id === before) + 1 || open.length;
  return open.slice(at, at + limit).map((intent) => ({ state, id: intent.id, intent }));
}

export interface CountedPlan {
  line: PlanLine;
  counts: readonly PlannedCount[];
}

/** By digest, which seals what a plan has: its intents are counted once, however often a list shows it. */
const kept = new Map<string, readonly PlannedCount[]>();
const KEPT_MAX = 100;

export function countedPlans(
  reader: Pick<PageReader, 'countsOfPlan'>,
  lines: readonly PlanLine[],
): Promise<CountedPlan[]> {
  return Promise.all(lines.map(async (line) => ({ line, counts: await countsOf(reader, line) })));
}

async function countsOf(reader: Pick<PageReader, 'countsOfPlan'>, { id, digest }: PlanLine) {
  const known = kept.get(digest);
  if (known) return known;
  const counts = await reader.countsOfPlan(id);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(digest, counts);
  return counts;
}

// An item in words.

export function inboxView(item: InboxItem): InboxItemShown {
  const { state, id } = item;
  return {
    state,
    id,
    title: inboxTitle(item),
    since: isoTime(sinceMs(item)),
    until: 'intent' in item ? null : isoTime(untilMs(item)),
    why: inboxWhy(item),
    next: nextStep(item),
    command: commandOf(item),
  };
}

/** `Ban 5 devices, disable 6 services`; `Ban SERIAL-1`. Names of targets in it are as they came: escape them where it is shown. */
export function inboxTitle(item: InboxItem): string {
  if ('plan' in item) return planTitle(item.counts);
  if ('request' in item) return requestTitle(item.request);
  const { action, target, undo } = item.intent;
  return `${asSentence(actWords(action, target).toDo)}${undo ? ' (undo)' : ''}`;
}

/** `Exempt Ada's MacBook (C02…) for 7 days`. Short enough that no name hides what follows it. */
export function requestTitle({ name, serial, device, forMs }: ExemptionRequest): string {
  const own = clip(serial || device, PART_MAX);
  const about = name === '' || name === own ? own : `${clip(name, PART_MAX)} (${own})`;
  return `Exempt ${about} for ${spanText(forMs)}`;
}

const PART_MAX = 45;

function untilMs(item: Exclude<InboxItem, { intent: Intent }>): number {
  return 'plan' in item ? item.plan.expiresAt : expiresAtOf(item.request);
}

/** What a plan does, by its actions. Of a plan whose row is damaged nothing is known. */
export function planTitle(counts: readonly PlannedCount[]): string {
  const sums = new Map<string, number>();
  for (const { action, count, subjects } of counts) {
    const own = verbOf(action)?.noun === 'device' ? subjects : count;
    sums.set(action, (sums.get(action) ?? 0) + own);
  }
  const parts = [...sums].map(([action, count]) => {
    return actWords(action, plural(count, verbOf(action)?.noun ?? 'target')).toDo;
  });
  return parts.length === 0 ? 'A plan' : asSentence(parts.join(', '));
}

export function sinceMs(item: InboxItem): number {
  if ('plan' in item) return item.plan.decidedAt ?? item.plan.madeAt;
  if ('request' in item) return item.request.askedAt;
  const { settledAt, sentAt, createdAt } = item.intent;
  return settledAt ?? sentAt ?? createdAt;
}

const NAMED_MAX = 3;

function rulesText(rules: readonly string[]): string {
  const known = [...new Set(rules)];
  const more = known.length - NAMED_MAX;
  const named = [...known.slice(0, NAMED_MAX), ...(more > 0 ? [`${more} more`] : [])];
  return known.length === 0 ? 'no rule' : `${known.length === 1 ? 'rule' : 'rules'} ${listed(named)}`;
}

/** Why it is to be done, or what went wrong. */
export function inboxWhy(item: InboxItem): string {
  if ('intent' in item) return item.intent.note ?? `by ${rulesText(item.intent.basis.map(({ rule }) => rule))}`;
  if ('request' in item) return `${item.request.person}: ${shownName(item.request.reason)}`;
  const { mode, releases, decidedBy, agreed } = item.plan;
  // By a person, or by the brake of a rollout: the plan does not say.
  const proposed =
    releases === undefined
      ? `proposed by ${rulesText(item.counts.flatMap(({ rules }) => rules))}`
      : `to undo what rule ${releases} did`;
  const yes = approversText(item.plan);
  const said = decidedBy === undefined ? `yes of ${yes}: needs ${agreed?.missing}` : `approved by ${yes}`;
  return `${proposed}${mode === 'dry-run' ? ' in a dry run' : ''}${yes === undefined ? '' : `, ${said}`}`;
}

/** What happens by itself, or what a person does. */
export function nextStep(item: InboxItem): string {
  if ('intent' in item) return nextText(item.intent) ?? 'nothing happens by itself';
  const until = `until ${timeText(untilMs(item))}`;
  if ('request' in item) return `grant or refuse it ${until}`;
  return item.state === 'pending' ? `approve or reject it ${until}` : `apply it ${until}`;
}

function commandOf({ state, id, ...item }: InboxItem): string {
  if (state === 'pending' && 'plan' in item) return answerCommand('approve', item.plan);
  if (state === 'asked') return `trustward requests grant ${id} --say SENTENCE`;
  if (isOfPlan(state)) return `trustward apply ${id}`;
  return `trustward intents resolve ${id} --as retry --reason TEXT`;
}

/** Each on one line, with the command that answers it where the line is wide enough; below them, how to answer any of them. */
export function inboxText(
  { inbox, counts, next }: Inbox,
  nowMs: number,
  { lineWidth, ...options }: TerminalOptions & { lineWidth?: number },
): string {
  const states = INBOX_STATES.filter((state) => inbox.some((item) => item.state === state));
  if (states.length === 0) return 'Nothing waits for a person.';
  const parts = states.map((state) => {
    const { title, lead } = INBOX_WORDS[state];
    const rows = inbox
      .filter((item) => item.state === state)
      .map(({ id, title: what, since, why, command }) => [
        whole(id),
        shownName(what),
        whole(`${spanText(Math.max(0, nowMs - Date.parse(since)))} ago`),
        why,
        whole(command),
      ]);
    const head = [
      isOfPlan(state) ? 'Plan' : state === 'asked' ? 'Request' : 'Action',
      'What',
      'Since',
      'Why',
      'Answer',
    ];
    const list = terminalList(head, rows, { ...options, ...(lineWidth !== undefined && { width: lineWidth - 2 }) }, [
      'Answer',
    ]).replace(/^/gm, '  ');
    const answers = isOfPlan(state) ? ANSWERS_OF_PLANS : state === 'asked' ? ANSWERS_OF_REQUESTS : undefined;
    const answer = answers === undefined ? [] : [paragraph(answers, options)];
    return [`${title}: ${countText(counts[state])}`, paragraph(lead, options), list, ...answer].join('\n');
  });
  const left = next === null ? [] : [`More: \`trustward inbox --before ${next}\``];
  const isOfAction = states.some((state) => !isOfPlan(state) && state !== 'asked');
  const meaning = isOfAction ? [paragraph(ANSWERS, options)] : [];
  return [...parts, ...meaning, ...left].join('\n\n');
}

const ANSWERS_OF_PLANS = '`trustward plans PLAN` shows one of them, and the commands that answer it.';
const ANSWERS_OF_REQUESTS =
  '`trustward requests grant REQUEST --say SENTENCE` grants one, `trustward requests refuse REQUEST --say SENTENCE` refuses it: the person reads the sentence.';
const ANSWERS =
  '`trustward intents resolve ACTION --as retry --reason TEXT` answers one: `--as retry` reads the target and tries once more if it is not done; `--as done` says that it was done; `--as not-done` gives it up.';
