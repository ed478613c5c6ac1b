// report: whether all is well: the first sentence of the first page, of `doctor`, of a summary and of the newest report. In: what waits, what went
// wrong, and what was done. Out: a sentence, the most urgent first. INVARIANT: no other file says that all is well.

import { ageText, DAY_MS, timeText } from '../../base/time.ts';
import type { ReportSnapshot } from '../../contract/report.ts';
import { guardsOf } from '../../domain/guards.ts';
import { INBOX_STATES } from '../../domain/operator.ts';
import { type Transmitter, type TransmitterState, transmitterDoubt } from '../../domain/signal.ts';
import type { DoneInDay, InboxCounts, RecordReader, WorkNow, WorkReader } from '../../domain/store-ports.ts';
import { isSource, sourceOfGiven } from '../../domain/subjects.ts';
import { snapshotView } from './decision-view.ts';
import { actWords, asSentence, countText, listed, plural, verbOf } from './fact-text.ts';
import { INBOX_WORDS } from './inbox.ts';

export interface Now {
  atMs: number;
  work: WorkNow;
  /** What the last run over lists read; undefined: nothing was read yet. */
  snapshot: ReportSnapshot | undefined;
  /** Rules that what people did has stopped. */
  braked?: readonly string[];
  /** Of `signals.yaml`. */
  transmitters?: readonly TransmitterNow[];
}

export async function readNow(
  reader: WorkReader & Pick<RecordReader, 'runsOverLists' | 'rollouts' | 'transmitterStates'>,
  nowMs: number,
  rules: GuardedRules,
): Promise<Now> {
  const [newest, before] = await reader.runsOverLists(2);
  // A run that still reads has no snapshot yet: the one before it is the last that has.
  const run = newest?.status === 'running' && newest.findings === undefined ? before : newest;
  const snapshot = run && snapshotView(run);
  const braked = (await reader.rollouts()).flatMap(({ rule, braked }) => (braked ? [rule] : []));
  const work = await reader.workNow(nowMs);
  const transmitters = await transmittersNow(reader, rules, nowMs);
  return { atMs: nowMs, work, snapshot: snapshot?.id === null ? undefined : snapshot, braked, transmitters };
}

export interface State {
  /** `good` when nothing is wrong, waits, or is beyond the usual. */
  tone: 'good' | 'wait' | 'bad';
  sentence: string;
}

interface Beside {
  /** A check of the process or of its data failed. */
  isWrong?: boolean;
  /** What the face itself found, such as `2 warnings`. */
  found?: readonly string[];
}

/** `3 plans wait for a yes, 7 services were disabled in the last 24 hours.` */
export function stateNow(now: Now | undefined, { isWrong = false, found = [] }: Beside = {}): State {
  const isStopped = now?.work.isStopped === true;
  const doubted = (now?.transmitters ?? []).flatMap(({ name, standing }) => (standing === 'in doubt' ? [name] : []));
  const untrusted = now?.snapshot === undefined ? [] : untrustedNames(now.snapshot);
  const items = [
    ...found,
    ...(untrusted.length > 0
      ? [`the last run did not trust ${listed(untrusted)}, and does nothing with that data`]
      : []),
    ...(doubted.length > 0 ? [`signals of ${listed(doubted)} may be missing`] : []),
    ...brakedItems(now?.braked),
    ...(now === undefined ? [] : workItems(now.work, now.atMs)),
  ];
  const isBad = isWrong || untrusted.length > 0 || doubted.length > 0;
  const isWell = !isBad && !isStopped && items.length === 0;
  const sentences = [
    ...(isBad ? ['Something is wrong.'] : []),
    ...(isStopped ? ['Stopped by a person: nothing is called.'] : []),
    ...(items.length === 0 ? [] : [`${asSentence(items.join(', '))}.`]),
  ];
  return {
    tone: isBad ? 'bad' : isWell ? 'good' : 'wait',
    sentence: isWell ? 'All is well.' : sentences.join(' '),
  };
}

/** `devices`, `the source inventory`: whatever of it is in doubt. */
function untrustedNames({ id, trusted, reasons }: ReportSnapshot): string[] {
  if (trusted || id === null) return [];
  const names = reasons.map(({ source }) => (isSource(source) ? source : `the source ${sourceOfGiven(source)}`));
  return names.length === 0 ? ['what it read'] : [...new Set(names)];
}

type GuardedRules = Parameters<typeof guardsOf>[0];

export interface TransmitterNow {
  name: string;
  /** `in doubt`: rules over its signals are unknown; `fails`: its last contact did, and what it sent before still counts. */
  standing: 'heard' | 'nothing yet' | 'fails' | 'in doubt';
  /** When it was last heard of, how much came, and what was refused why. */
  words: string[];
}

export async function transmittersNow(
  reader: Pick<RecordReader, 'transmitterStates'>,
  rules: GuardedRules,
  nowMs: number,
): Promise<TransmitterNow[]> {
  const all = guardsOf(rules)?.transmitters ?? [];
  const states = all.length === 0 ? [] : await reader.transmitterStates();
  return all.map((one) =>
    transmitterNow(
      one,
      states.find(({ name }) => name === one.name),
      nowMs,
    ),
  );
}

function transmitterNow(transmitter: Transmitter, state: TransmitterState | undefined, nowMs: number): TransmitterNow {
  const { counts = {}, contactAt, known, stream: { status = 'unknown', fault } = {} } = state ?? {};
  const { accepted = 0, repeated = 0, unknown = 0, ...refused } = counts;
  const why = Object.entries(refused).map(([reason, count]) => `${countText(count)} for ${reason}`);
  const words = [
    contactAt === undefined ? 'nothing has come yet' : `last heard of: ${ageText(contactAt, nowMs)}`,
    `${plural(accepted, 'signal')} accepted (${countText(unknown)} about nobody known, ${countText(repeated)} repeated)`,
    ...(why.length > 0 ? [`refused: ${why.join(', ')}`] : []),
    known
      ? `nothing is missing from ${timeText(known.fromMs)} to ${timeText(known.toMs)}`
      : 'nothing proves that none is missing',
    ...(status === 'unknown' ? [] : [`its stream is ${status}`]),
    ...(fault ? [`it cannot be asked since ${timeText(fault.sinceMs)}: ${fault.text}`] : []),
  ];
  const isDoubted = transmitterDoubt(transmitter, state, nowMs) !== undefined;
  const heard = contactAt === undefined ? 'nothing yet' : 'heard';
  return { name: transmitter.name, standing: isDoubted ? 'in doubt' : fault ? 'fails' : heard, words };
}

/** `rule ban-compromised-device acts no more, since people reversed or exempted what it did`. */
function brakedItems(rules: readonly string[] = []): string[] {
  if (rules.length === 0) return [];
  const what = rules.length === 1 ? `rule ${rules[0]} acts` : `${countText(rules.length)} rules act`;
  return [`${what} no more, since people reversed or exempted what ${rules.length === 1 ? 'it' : 'they'} did`];
}

/** What was found at the end of the newest run; undefined: nothing is open, and nothing was beyond the usual. */
export function stateAfterRun(work: WorkNow, untilMs: number): string | undefined {
  const items = [...inboxItems(work.inbox), ...unusualItems(work, untilMs, 'in the 24 hours until then')];
  return items.length === 0 ? undefined : `${asSentence(items.join(', '))}.`;
}

function workItems(work: WorkNow, nowMs: number): string[] {
  const { ended } = work;
  return [
    ...(ended?.status === 'aborted' ? [`run ${countText(ended.seq)} was aborted`] : []),
    ...inboxItems(work.inbox),
    ...unusualItems(work, nowMs, 'in the last 24 hours'),
  ];
}

export function inboxSentence(counts: InboxCounts): string {
  const items = inboxItems(counts);
  return items.length === 0 ? 'Nothing waits for a person.' : `${asSentence(items.join(', '))}.`;
}

/** What is in the inbox; what went wrong, or may have, before what waits for an answer. */
export function inboxItems(counts: InboxCounts): string[] {
  return INBOX_STATES.filter((state) => counts[state] > 0)
    .reverse()
    .map((state) => {
      const { noun, counted } = INBOX_WORDS[state];
      return `${plural(counts[state], noun)} ${counted[counts[state] === 1 ? 0 : 1]}`;
    });
}

// What was done beyond the usual: more targets of one action than on any of the seven days before, from five on; and everything that was
// disabled or deleted.

const FEW = 5;
/** The 24 hours, and the week before them. */
const DAYS_COMPARED = 8;
const GRAVE: ReadonlySet<string | undefined> = new Set(['disable', 'delete']);

function unusualItems({ done, sinceMs = 0 }: WorkNow, untilMs: number, when: string): string[] {
  const hasWeek = untilMs - sinceMs >= DAYS_COMPARED * DAY_MS;
  return done
    .filter(({ day }) => day === 0)
    .map(({ action, targets }) => ({ action, targets, before: mostBefore(done, action) }))
    .filter(({ action, targets, before }) => isGrave(action) || (targets >= FEW && targets > before))
    .sort((one, other) => Number(isGrave(other.action)) - Number(isGrave(one.action)) || other.targets - one.targets)
    .map(({ action, targets, before }, at, all) => {
      const isFirst = all.findIndex((one) => !isGrave(one.action)) === at;
      const most = hasWeek
        ? ` (at most ${countText(before)}${isFirst ? ' a day in the week before' : ''})`
        : isFirst
          ? ' (there is no week before to compare with)'
          : '';
      return `${doneWords(action, targets)}${at === 0 ? ` ${when}` : ''}${isGrave(action) ? '' : most}`;
    });
}

function mostBefore(done: readonly DoneInDay[], action: string): number {
  return Math.max(0, ...done.filter((one) => one.action === action && one.day > 0).map(({ targets }) => targets));
}

export function isGrave(action: string): boolean {
  return GRAVE.has(action.split('_')[0]);
}

/** `7 services were disabled`. */
function doneWords(action: string, targets: number): string {
  const what = plural(targets, verbOf(action)?.noun ?? 'target');
  const { wasDone, isCall } = actWords(action, what, targets === 1 ? 'was' : 'were');
  return isCall ? wasDone : `Trustward ${wasDone}`;
}
