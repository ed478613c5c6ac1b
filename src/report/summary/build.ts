// report: the record since a time → a summary. In: a reader, and the time. Out: counts with examples. It reads the store only, a page at a
// time, and keeps no more than the counts and some examples.
import type { ChangeWindow } from '../../domain/change-window.ts';
import { aboutText } from '../../domain/exemption.ts';
import { isoTime } from '../../domain/time-text.ts';
import { changeWindowNow } from '../change-window-view.ts';
import { entriesSince, type ReadEntry, textIn } from './entries.ts';
import { sumPeople } from './people.ts';
import { type SummedRuns, sumRuns } from './runs.ts';
import type { Summary, SummaryCalls, SummaryReader, SummaryUntrusted } from './summary.ts';

const NAMED_MAX = 5;

/** What was done, without what is only held: that takes as long as all the rest. Errors: AppError `store_failed`. */
export async function buildDone(
  reader: SummaryReader,
  sinceMs: number,
  untilMs: number,
): Promise<Pick<Summary, 'runs' | 'calls' | 'people'>> {
  const runs = await sumRuns(reader, sinceMs, untilMs);
  const [calls, people] = [await sumCalls(reader, sinceMs, runs), await sumPeople(reader, sinceMs, runs)];
  return { runs: runs.summary, calls, people };
}

/** Errors: AppError `store_failed`. */
export async function buildSummary(
  reader: SummaryReader,
  sinceMs: number,
  untilMs: number,
  changeWindows: readonly ChangeWindow[] = [],
): Promise<Summary> {
  const runs = await sumRuns(reader, sinceMs, untilMs);
  return {
    since: isoTime(sinceMs),
    until: isoTime(untilMs),
    runs: runs.summary,
    calls: await sumCalls(reader, sinceMs, runs),
    // A decision that is held again by a later run for another reason counts again.
    held: await reader.heldSince(sinceMs, NAMED_MAX),
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
