// explain: one line of time of one subject, newest first: what changed of its facts, what was decided, what was called, what people did. In: the
// store, the history if any, a subject. Out: lines. Values come from devices: whoever shows them escapes them.
import { clip } from '../../base/text.ts';
import { DAY_MS, epochMsOf, isoTime } from '../../base/time.ts';
import type { Fact } from '../../domain/facts.ts';
import type { Identity } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { Clock } from '../../domain/ports.ts';
import type { HistoryReader } from '../../domain/recorded-history.ts';
import type { HistoryLine, TimelinePart } from '../../domain/why.ts';
import { historyOfSubject, type WhyReader } from './why.ts';

export interface TimelineDeps {
  reader: WhyReader;
  /** Undefined: none is kept. */
  history: HistoryReader | undefined;
  clock: Clock;
}

/** Newest days first, and no further back than needed. */
const STRETCHES_MS = [DAY_MS, 7 * DAY_MS, 30 * DAY_MS, 400 * DAY_MS];
const CHANGES_SHOWN_MAX = 6;
const VALUE_MAX = 80;

/** The newest `limit` lines at most. Errors: those of the store and of the history. */
export async function timelineOf(
  { reader, history, clock }: TimelineDeps,
  subject: Pick<Identity, 'kind' | 'id' | 'serial'>,
  { limit, part = 'all' }: { limit: number; part?: TimelinePart },
): Promise<HistoryLine[]> {
  const acts = part === 'facts' ? [] : await historyOfSubject({ reader, clock }, subject, limit);
  const facts = part === 'acts' || history === undefined ? [] : await factLines(history, subject, clock.nowMs(), limit);
  return [...acts, ...facts].sort((one, other) => other.at - one.at).slice(0, limit);
}

async function factLines(
  history: HistoryReader,
  { kind, id }: Pick<Identity, 'kind' | 'id'>,
  nowMs: number,
  limit: number,
): Promise<HistoryLine[]> {
  const span = await history.span();
  if (span === undefined) return [];
  for (const stretchMs of STRETCHES_MS) {
    const fromMs = Math.max(span.fromMs, nowMs - stretchMs);
    const lines = await linesFrom(history, { kind, id }, fromMs, nowMs);
    if (lines.length >= limit || fromMs === span.fromMs) return lines.slice(-limit).reverse();
  }
  return [];
}

/** The oldest first. */
async function linesFrom(
  history: HistoryReader,
  subject: Pick<Identity, 'kind' | 'id'>,
  fromMs: number,
  toMs: number,
): Promise<HistoryLine[]> {
  const before = await history.factsAt(subject, fromMs - 1);
  const values = new Map<string, Fact>(Object.entries(before?.facts ?? {}));
  const lines: HistoryLine[] = [];
  let isThere = before !== undefined;
  let own: RunChanges | undefined;
  const end = () => {
    if (own === undefined) return;
    const text = textOf(own, values, isThere);
    isThere = own.changes.every(({ path, value }) => path !== '' || value !== undefined);
    if (text !== undefined) lines.push(lineOf(own, text));
    own = undefined;
  };
  for await (const change of history.changesOf(subject, fromMs, toMs)) {
    if (own && (own.runSeq !== change.runSeq || own.atMs !== change.atMs)) end();
    own ??= { atMs: change.atMs, runSeq: change.runSeq, changes: [] };
    own.changes.push(change);
  }
  end();
  return lines;
}

interface RunChanges {
  atMs: number;
  runSeq: number;
  changes: FactChange[];
}

function lineOf({ atMs, runSeq }: RunChanges, text: string): HistoryLine {
  return {
    at: atMs,
    kind: 'fact',
    text,
    action: undefined,
    target: undefined,
    rules: [],
    run: runSeq === 0 ? undefined : runSeq,
    by: undefined,
    id: `${runSeq}`,
  };
}

/** Undefined: only time stamps went on, as they do with every contact. Keeps `values` up to date. */
function textOf({ changes }: RunChanges, values: Map<string, Fact>, wasThere: boolean): string | undefined {
  const isGone = changes.some(({ path, value }) => path === '' && value === undefined);
  const isNew = !wasThere && !isGone;
  const texts = changes.flatMap((change) => (isGone ? [] : (changeText(change, values.get(change.path)) ?? [])));
  for (const { path, value } of changes) {
    if (path === '' && value === undefined) values.clear();
    else if (value === undefined) values.delete(path);
    else values.set(path, value);
  }
  if (isGone) return 'no list has it any longer';
  if (isNew) return `first recorded, with ${values.size} fact${values.size === 1 ? '' : 's'}`;
  if (texts.length === 0) return undefined;
  const more = texts.length - CHANGES_SHOWN_MAX;
  return [...texts.slice(0, CHANGES_SHOWN_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function changeText({ path, value, secret }: FactChange, was: Fact | undefined): string | undefined {
  if (secret) return `${path}: changed; it is a secret, and not recorded`;
  if (isTime(value) && (was === undefined || isTime(was))) return undefined;
  const [from, to] = [valueText(was), valueText(value)];
  return from === to ? undefined : `${path}: ${from} → ${to}`;
}

function valueText(value: Fact | undefined): string {
  if (value === undefined) return '(none)';
  if (isTime(value)) return isoTime(Math.floor(epochMsOf(value) as number));
  const text = JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
  return clip(text, VALUE_MAX);
}

function isTime(value: Fact | undefined): value is number | bigint {
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  return isNumber && value >= LONG && epochMsOf(value) !== undefined;
}

/** A number of fewer digits may be a count. */
const LONG = 1_000_000_000_000;
