// report: the record since a time → a summary. In: a reader, and the time. Out: counts with examples. It reads the store only, a page at a
// time, and keeps no more than the counts and some examples.

import { isoTime } from '../../../base/time.ts';
import { giveWay } from '../../../base/turns.ts';
import type { Summary, SummaryCalls, SummaryDeed, SummaryRuns, SummaryUntrusted } from '../../../contract/answers.ts';
import { type AuditKind, entryBody } from '../../../domain/audit-entry.ts';
import type { ChangeWindow } from '../../../domain/change-window.ts';
import { aboutText } from '../../../domain/exemption.ts';
import type { Facts } from '../../../domain/facts.ts';
import { saidText } from '../../../domain/operator.ts';
import { isOfLook, type Run } from '../../../domain/run.ts';
import type { AuditQuery } from '../../../domain/store-ports.ts';
import { AuditNames, DEEDS, deedWords, type NamesReader } from '../audit-words.ts';
import { plural } from '../fact-text.ts';
import { changeWindowNow } from '../plan-view.ts';
import type { Counted, SummaryReader } from './sections.ts';

// The audit entries of one kind since a time, a page at a time, with their bodies read.

const PAGE = 500;

interface ReadEntry {
  seq: number;
  at: number;
  kind: AuditKind;
  body: Facts;
}

async function* entriesSince(
  reader: Pick<SummaryReader, 'audit'>,
  kind: AuditKind,
  since: number,
  only: Pick<AuditQuery, 'hasActor'> = {},
): AsyncGenerator<ReadEntry> {
  for (let afterSeq = 0; ; ) {
    const page = await reader.audit({ kind, since, afterSeq, limit: PAGE, ...only });
    for (const entry of page)
      if (entry.at >= since) yield { seq: entry.seq, at: entry.at, kind, body: entryBody(entry) };
    if (page.length < PAGE) return;
    afterSeq = page.at(-1)?.seq as number;
    await giveWay();
  }
}

/** A member of a body that is a text; empty otherwise. */
function textIn({ body }: ReadEntry, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

// The runs of a summary: how they ended, and where none was made.

const RUNS_PAGE = 200;
const RUNS_MAX = 20_000;
const NAMED_MAX = 5;
/** Every number of a run is smaller. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;
/** Fewer intervals show no habit, and older ones may be another schedule's. */
const [INTERVALS_MIN, INTERVALS_MAX] = [3, 20];

/** In two intervals: more are those of another schedule. */
const TIMES_MAX = 4;

/** How many times of the configured schedule are after `fromMs`, up to `untilMs`; it may count no further than 5. */
export type TimesDue = (fromMs: number, untilMs: number) => number;

interface SummedRuns {
  summary: SummaryRuns;
  /** The number of a run of this time, by its id. */
  seqOf(id: unknown): number | null;
}

async function sumRuns(
  reader: SummaryReader,
  sinceMs: number,
  untilMs: number,
  due: TimesDue = () => 0,
): Promise<SummedRuns> {
  const { runs, isCut } = await runsSince(reader, sinceMs);
  const newest = await reader.runLines({ before: AFTER_ALL, limit: RUNS_PAGE, overLists: true });
  const usualMs = usualOf(newest, due);
  const [oldest] = runs;
  const [earlier] = await reader.runLines({ before: oldest?.seq ?? AFTER_ALL, limit: 1, overLists: true });
  // Looks go on while whole runs are missing.
  const others = runs.filter((run) => !isOfLook(run));
  const outages =
    usualMs === null
      ? []
      : outagesOf(sinceSchedule(earlier ? [earlier, ...others] : others, newest, usualMs), usualMs, untilMs, due);
  const aborted = runs.filter(({ status }) => status === 'aborted').reverse();
  const count = (status: Run['status']) => runs.filter((run) => run.status === status).length;
  const aborts = aborted.slice(0, NAMED_MAX).map(({ seq, startedAt, error }) => {
    return { run: seq, at: isoTime(startedAt), error: error ?? 'no reason was recorded' };
  });
  const numbers = new Map(runs.map(({ id, seq }) => [id, seq]));
  return {
    seqOf: (id) => numbers.get(String(id)) ?? null,
    summary: {
      completed: count('completed'),
      aborted: aborted.length,
      running: count('running'),
      afterEvents: runs.length - others.length,
      first: oldest?.seq ?? null,
      last: runs.at(-1)?.seq ?? null,
      usualMs,
      aborts: { count: aborted.length, some: aborts },
      outages: { count: outages.length, some: outages.reverse().slice(0, NAMED_MAX) },
      isCut,
    },
  };
}

/** Oldest first. */
async function runsSince(reader: SummaryReader, since: number): Promise<{ runs: Run[]; isCut: boolean }> {
  const runs: Run[] = [];
  for (let before = AFTER_ALL; ; ) {
    const page = await reader.runLines({ since, before, limit: RUNS_PAGE });
    runs.push(...page);
    if (page.length < RUNS_PAGE || runs.length >= RUNS_MAX)
      return { runs: runs.reverse(), isCut: page.length === RUNS_PAGE };
    before = page.at(-1)?.seq as number;
    await giveWay();
  }
}

/** The median between the starts of scheduled runs that follow each other; null also where the schedule has other times: they had another cause. */
function usualOf(newest: readonly Run[], due: TimesDue): number | null {
  const all = newest.filter(({ trigger }) => trigger === 'schedule').map(({ startedAt }) => startedAt);
  const starts = all.slice(0, INTERVALS_MAX + 1);
  const usualMs = medianInterval(starts);
  const [last] = starts;
  if (usualMs === null || last === undefined) return null;
  const times = due(last - 2 * usualMs, last);
  return times < 2 || times > TIMES_MAX ? null : usualMs;
}

function medianInterval(starts: readonly number[]): number | null {
  const intervals = starts.slice(1).map((start, at) => (starts[at] as number) - start);
  const sorted = intervals.filter((ms) => ms > 0).sort((one, other) => one - other);
  return sorted.length < INTERVALS_MIN ? null : (sorted[Math.floor(sorted.length / 2)] as number);
}

/** Without the runs before the first that the present schedule made: what another schedule, or none, left out was not missed. */
function sinceSchedule(runs: readonly Run[], newest: readonly Run[], usualMs: number): Run[] {
  const isUsual = ({ trigger, startedAt }: Run, next: Run | undefined) =>
    trigger === 'schedule' && next !== undefined && next.startedAt - startedAt <= 2 * usualMs;
  const first = [runs, newest.toReversed()].flatMap((all) => all.find((run, at) => isUsual(run, all[at + 1])) ?? []);
  return runs.filter(({ seq }) => first.some((one) => seq >= one.seq));
}

/** A schedule allows one interval between two runs; a run that takes longer than that joins the next one. */
function outagesOf(
  runs: readonly Run[],
  usualMs: number,
  untilMs: number,
  due: TimesDue,
): SummaryRuns['outages']['some'] {
  return runs.flatMap((run, at) => {
    const next = runs[at + 1];
    const from = run.finishedAt ?? run.startedAt;
    const until = next?.startedAt ?? untilMs;
    if ((run.status === 'running' && !next) || until - from <= 2 * usualMs || due(from, until) < 2) return [];
    return [{ from: isoTime(from), to: next ? isoTime(next.startedAt) : null, after: run.seq }];
  });
}

// What people did, for a summary.

const PEOPLE_NAMED_MAX = 15;

/** Runs write most entries of these kinds. */
const DONE_BY_RUNS_TOO: ReadonlySet<AuditKind> = new Set(['intent.planned', 'claim.released']);

async function sumPeople(reader: SummaryReader, sinceMs: number, { seqOf }: SummedRuns): Promise<Counted<SummaryDeed>> {
  const newest = new Newest();
  for (const kind of DEEDS) {
    const only = DONE_BY_RUNS_TOO.has(kind) ? { hasActor: true as const } : {};
    for await (const { entry, rules } of actsSince(reader, kind, sinceMs, only)) {
      if (deedWords(entry, NO_NAMES) === undefined) continue;
      const { at, seq, body } = entry;
      const [by, reason, reference] = ['by', 'reason', 'reference'].map((name) => textIn(entry, name) || undefined);
      const said = saidText({ reason, reference }) ?? null;
      newest.add({ at: isoTime(at), by: by ?? null, text: { kind, body, rules }, reason: said, entry: seq });
    }
  }
  for (const deed of await requestedRuns(reader, sinceMs, seqOf)) newest.add(deed);
  return newest.counted(reader);
}

interface RecordedAct {
  /** The first. */
  entry: ReadEntry;
  rules: string[];
}

/** What is done to a target is recorded at once for each rule that had it done, and is one act. */
async function* actsSince(...asked: Parameters<typeof entriesSince>): AsyncGenerator<RecordedAct> {
  let atOnce = new Map<string | number, RecordedAct>();
  let atMs: number | undefined;
  for await (const entry of entriesSince(...asked)) {
    if (entry.at !== atMs) {
      yield* atOnce.values();
      atOnce = new Map();
      atMs = entry.at;
    }
    const [rule, target] = [textIn(entry, 'rule'), textIn(entry, 'target')];
    const key =
      rule === '' || target === ''
        ? entry.seq
        : ['by', 'action', 'target'].map((name) => textIn(entry, name)).join('\0');
    const act = atOnce.get(key);
    if (act === undefined) atOnce.set(key, { entry, rules: rule === '' ? [] : [rule] });
    else if (!act.rules.includes(rule)) act.rules.push(rule);
  }
  yield* atOnce.values();
}

/** One line for all runs of a person. */
async function requestedRuns(
  reader: SummaryReader,
  sinceMs: number,
  seqOf: SummedRuns['seqOf'],
): Promise<SummaryDeed[]> {
  const asked = new Map<string, { count: number; last: ReadEntry }>();
  for await (const entry of entriesSince(reader, 'run.started', sinceMs, { hasActor: true })) {
    const by = textIn(entry, 'by');
    if (by !== '') asked.set(by, { count: (asked.get(by)?.count ?? 0) + 1, last: entry });
  }
  return [...asked].map(([by, { count, last }]) => {
    const run = seqOf(last.body.run);
    const named = run === null ? '' : count === 1 ? ` (run ${run})` : ` (the last is run ${run})`;
    const text = `asked for ${plural(count, 'run')}${named}`;
    return { at: isoTime(last.at), by, text, reason: null, entry: count === 1 ? last.seq : null };
  });
}

/** Before the names of what it is about are known. */
interface FoundDeed extends Omit<SummaryDeed, 'text'> {
  text: string | { kind: AuditKind; body: Facts; rules: readonly string[] };
}

const NO_NAMES = new AuditNames();

/** Keeps the newest of any number. */
class Newest {
  private count = 0;
  private some: FoundDeed[] = [];

  add(deed: FoundDeed): void {
    this.count += 1;
    this.some.push(deed);
    if (this.some.length > 10 * PEOPLE_NAMED_MAX) this.trim();
  }

  async counted(reader: NamesReader): Promise<Counted<SummaryDeed>> {
    this.trim();
    const bodies = this.some.flatMap(({ text }) => (typeof text === 'string' ? [] : [text.body]));
    const names = await AuditNames.of(reader, bodies);
    const some = this.some.map(({ text, ...deed }) => ({
      ...deed,
      text: typeof text === 'string' ? text : (deedWords(text, names, text.rules) ?? ''),
    }));
    return { count: this.count, some };
  }

  private trim(): void {
    this.some = this.some.sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, PEOPLE_NAMED_MAX);
  }
}

/** What people did. Errors: AppError `store_failed`. */
export async function buildPeople(reader: SummaryReader, sinceMs: number, untilMs: number): Promise<Summary['people']> {
  return sumPeople(reader, sinceMs, await sumRuns(reader, sinceMs, untilMs));
}

/** Errors: AppError `store_failed`. */
export async function buildSummary(
  reader: SummaryReader,
  sinceMs: number,
  untilMs: number,
  changeWindows: readonly ChangeWindow[] = [],
  due?: TimesDue,
): Promise<Summary> {
  const runs = await sumRuns(reader, sinceMs, untilMs, due);
  return {
    since: isoTime(sinceMs),
    until: isoTime(untilMs),
    runs: runs.summary,
    calls: await sumCalls(reader, sinceMs, runs),
    held: await reader.heldSince(sinceMs, NAMED_MAX),
    mended: await sumMended(reader, sinceMs),
    expired: await sumExpired(reader, sinceMs, untilMs),
    people: await sumPeople(reader, sinceMs, runs),
    untrusted: await sumUntrusted(reader, sinceMs, runs),
    changeWindow: (await changeWindowNow(reader, changeWindows, untilMs)) ?? null,
  };
}

const OUTCOMES: { readonly [outcome: string]: SummaryCalls['outcome'] } = {
  succeeded: 'done',
  confirmed: 'done',
  failed: 'failed',
  unknown: 'in_doubt',
  parked: 'in_doubt',
};

/** By its last outcome in this time: one that failed and was done later is done. */
async function sumCalls(reader: SummaryReader, sinceMs: number, { seqOf }: SummedRuns): Promise<SummaryCalls[]> {
  const groups = new Map<string, SummaryCalls>();
  const undone = new Map<string, ReadEntry>();
  const released = await releasedSince(reader, sinceMs);
  const count = (entry: ReadEntry) => {
    const action = textIn(entry, 'action');
    const outcome = OUTCOMES[textIn(entry, 'outcome')];
    if (outcome === undefined) return;
    const key = `${outcome} ${action}`;
    const group = groups.get(key) ?? { action, outcome, count: 0, some: [] };
    const [target, intent, note] = [textIn(entry, 'target'), textIn(entry, 'intent'), textIn(entry, 'note')];
    const run = released.has(intent) ? null : seqOf(entry.body.run);
    group.some = [{ target, intent, run, note }, ...group.some].slice(0, NAMED_MAX);
    groups.set(key, { ...group, count: group.count + 1 });
  };
  for await (const entry of entriesSince(reader, 'intent.settled', sinceMs)) {
    const intent = textIn(entry, 'intent');
    undone.delete(intent);
    // What is done changes no more: only the others are kept.
    if (OUTCOMES[textIn(entry, 'outcome')] === 'done') count(entry);
    else undone.set(intent, entry);
  }
  for (const entry of undone.values()) count(entry);
  const order = ['done', 'failed', 'in_doubt'];
  return [...groups.values()].sort((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome));
}

/** Intents that a person commanded: the last run before them did not do them. */
async function releasedSince(reader: SummaryReader, sinceMs: number): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const entry of entriesSince(reader, 'intent.planned', sinceMs, { hasActor: true })) {
    if (entry.body.released === true) ids.add(textIn(entry, 'intent'));
  }
  return ids;
}

/** Of these nothing was done: their people were warned. */
async function sumMended(reader: SummaryReader, sinceMs: number): Promise<Summary['mended']> {
  const mended: Summary['mended'] = { count: 0, some: [] };
  for await (const entry of entriesSince(reader, 'notice.mended', sinceMs)) {
    mended.count += 1;
    if (mended.some.length < NAMED_MAX)
      mended.some.push({ target: textIn(entry, 'target'), rule: textIn(entry, 'rule'), at: isoTime(entry.at) });
  }
  return mended;
}

async function sumExpired(reader: SummaryReader, sinceMs: number, untilMs: number): Promise<Summary['expired']> {
  const plans: Summary['expired']['plans'] = { count: 0, some: [] };
  for await (const entry of entriesSince(reader, 'plan.expired', sinceMs)) {
    plans.count += 1;
    plans.some = [{ id: textIn(entry, 'plan'), at: isoTime(entry.at) }, ...plans.some].slice(0, NAMED_MAX);
  }
  const ended = (await reader.exemptions())
    .filter(({ endedAt, expiresAt }) => endedAt === undefined && expiresAt >= sinceMs && expiresAt <= untilMs)
    .map((one) => ({ id: one.id, about: aboutText(one), at: isoTime(one.expiresAt) }));
  return { plans, exemptions: { count: ended.length, some: ended.slice(0, NAMED_MAX) } };
}

async function sumUntrusted(reader: SummaryReader, sinceMs: number, runs: SummedRuns): Promise<SummaryUntrusted[]> {
  const groups = new Map<string, SummaryUntrusted>();
  for await (const entry of entriesSince(reader, 'source.untrusted', sinceMs)) {
    const source = textIn(entry, 'source');
    const run = runs.seqOf(entry.body.run);
    for (const { code, text } of (entry.body.reasons ?? []) as { code: string; text: string }[]) {
      const group = groups.get(`${source} ${code}`);
      const [readings, firstRun] = [(group?.readings ?? 0) + 1, group?.firstRun ?? run];
      groups.set(`${source} ${code}`, { source, code, text, readings, firstRun, lastRun: run });
    }
  }
  return [...groups.values()];
}
