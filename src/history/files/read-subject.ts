// history files: the history of one subject: what was known of it at a time, and how it changed. In: a subject, times. Out: its facts, its changes, the
// oldest first. What a reading showed that was not trusted is left out.
import type { Fact, Facts } from '../../domain/facts.ts';
import { giveWay } from '../../domain/give-way.ts';
import type { FactChange, RunFrame } from '../../domain/recorded-history.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SOURCE_OF, type SubjectRef } from '../../domain/subjects.ts';
import { Begin } from './begin.ts';
import type { HistoryFolder } from './history-folder.ts';
import { readItems } from './read-items.ts';
import { scanRuns } from './scan.ts';
import { changeOf, readValue, type Wanted } from './scan-facts.ts';
import { Walk } from './walk.ts';

export async function factsOfSubject(
  history: HistoryFolder,
  subject: SubjectRef,
  atMs: number,
): Promise<{ facts: Facts; seenAt: number } | undefined> {
  const walk = new Walk(history.folder, history.address);
  // What held just after the last run until then is what held before the first run after it.
  const last = walk.segments.findLast(({ fromMs, toMs }) => Math.min(fromMs, toMs) <= atMs);
  if (!last) return undefined;
  const begun = await new Begin(walk, atMs + 1).at(last.first);
  if ('lost' in begun) return undefined;
  const facts: Facts = {};
  for (const row of begun.standing.rowsOf(subject)) {
    const { value } = changeOf(
      subject.kind,
      subject.id,
      row.path,
      row.value === undefined ? undefined : readValue(row.value),
    );
    if (value !== undefined) setFact(facts, row.path, value);
  }
  if (Object.keys(facts).length === 0) return undefined;
  return { facts, seenAt: await seenAt(history, subject, last.fromMs, atMs) };
}

/** An id may be any text, and so may a path. */
function setFact(facts: Facts, path: string, value: Fact): void {
  Object.defineProperty(facts, path, { value, enumerable: true, writable: true, configurable: true });
}

/** The last run that read the subject, of those in the last segment: all of an hour or of a day. */
async function seenAt(history: HistoryFolder, subject: SubjectRef, fromMs: number, atMs: number): Promise<number> {
  let seen = fromMs;
  const nothing = new Map();
  for await (const item of readItems(history, { fromMs, toMs: atMs, facts: nothing, factsOnly: true })) {
    if (item.kind === 'run' && hasRead(item.run.frame, subject)) seen = item.run.frame.run.startedAt;
  }
  return seen;
}

function hasRead({ part, sources }: RunFrame, { kind, id }: SubjectRef): boolean {
  if (part) return part.read.some((one) => one.kind === kind && one.id === id);
  const reading = sources[SOURCE_OF[kind]];
  return reading.state === 'read' && isUsable(reading);
}

export async function* changesOfSubject(
  { folder, address }: HistoryFolder,
  { kind, id }: SubjectRef,
  fromMs: number,
  toMs: number,
): AsyncGenerator<FactChange & { atMs: number; runSeq: number }> {
  const walk = new Walk(folder, address);
  const wanted: Wanted = { fact: (one) => one === kind, row: () => false, subject: id, standingOnly: true };
  const first = walk.segments.find((segment) => Math.max(segment.fromMs, segment.toMs) >= fromMs);
  for (let place = first?.first ?? 1, last = walk.lastPlace; place <= last; ) {
    const walked = walk.at(place);
    if (!walked) return;
    place = walked.next;
    if (walked.kind === 'lost') continue;
    let skip = walked.skip;
    for (const { run: runSeq, atMs, changes } of scanRuns(walked.columns, wanted)) {
      if (skip-- > 0 || atMs < fromMs || atMs > toMs) continue;
      for (const change of changes) yield { ...change, atMs, runSeq };
    }
    await giveWay();
  }
}
