// support: a history in memory, for tests: it records as the real one does, into a list. In: what runs see. Out: the runs as they
// were recorded, and a reader of them. It keeps everything as long as it lives.
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import type { PresentPrints } from '../../src/domain/identity.ts';
import type { FactChange } from '../../src/domain/look-back.ts';
import {
  type EventRows,
  type HistoryItem,
  type HistoryQuery,
  type HistoryReader,
  type HistoryRecorder,
  isMomentary,
  type RecordedRuleSet,
  type RecordedRun,
  type RecordForm,
  type SeenRun,
} from '../../src/domain/recorded-history.ts';
import type { Source, SubjectKind, SubjectRef } from '../../src/domain/subjects.ts';
import { Decoder, type HistoryRow, RunEncoder } from '../../src/history/codec/run-encoder.ts';
import { changeOf, Recording } from '../../src/history/record/folder-recording.ts';
import { PRINT_KEY } from './print-key.ts';

export class MemoryHistory implements HistoryRecorder, HistoryReader {
  /** As they are read again from what was written. */
  readonly runs: RecordedRun[] = [];
  readonly fault = undefined;
  lists: ReadonlySet<Source> = new Set();
  private readonly encoder = new RunEncoder();
  private readonly decoder = new Decoder({ factsOnly: false });
  private readonly recording = new Recording(PRINT_KEY);
  private last: Promise<void> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly store: EventRows) {}

  async presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints> {
    await this.last;
    return this.recording.presentPrints(kind, form);
  }

  get unreadAfterNo(): number | undefined {
    return this.waiting > 0 ? this.recording.eventsTo.eventsTo : undefined;
  }

  record(run: SeenRun): void {
    this.waiting += 1;
    const { openState, written } = structuredClone({ openState: run.openState, written: run.written });
    this.last = this.last.then(async () => {
      const events: TrustEvent[] = [];
      const after = this.recording.eventsAfter({ seq: run.frame.run.seq, eventsTo: run.frame.eventsTo });
      for await (const batch of this.store.eventsBetween(after, run.frame.eventsTo)) events.push(...batch);
      const seen = this.recording.take({ ...run, openState, written }, events);
      const changes: FactChange[] = [];
      seen.changes((kind, subject, path, value) => changes.push({ kind, subject, ...changeOf({ path, value }) }));
      const rows: HistoryRow[] = [];
      this.encoder.encode({ ...seen, changes: () => undefined }, (seq, at, kind, subject, path, value) =>
        rows.push({ run: seq, at, kind, subject, path, value }),
      );
      this.runs.push(this.decoder.run(rows, changes));
      this.waiting -= 1;
    });
  }

  settled(): Promise<void> {
    return this.last;
  }

  async close(): Promise<void> {
    await this.last;
  }

  /** The first item is the state before the first run that is asked for. Runs are in the order of recording: a clock may be set back between them. */
  async *items({ fromMs, toMs }: HistoryQuery): AsyncIterable<HistoryItem> {
    await this.last;
    const isAsked = ({ frame: { run } }: RecordedRun) => run.startedAt >= fromMs && run.startedAt <= toMs;
    const first = this.runs.findIndex(isAsked);
    if (first < 0) return;
    const before = this.runs.slice(0, first);
    const asked = this.runs.slice(first, this.runs.findLastIndex(isAsked) + 1);
    yield {
      kind: 'state',
      atMs: fromMs,
      facts: once(standingFacts(before)),
      events: once(before.flatMap(({ events }) => events)),
    };
    for (const run of asked) yield { kind: 'run', run };
  }

  async span() {
    await this.last;
    const [first, last] = [this.runs[0], this.runs.at(-1)];
    return first && last && { fromMs: first.frame.run.startedAt, toMs: last.frame.run.startedAt };
  }

  async factsAt(subject: SubjectRef, atMs: number) {
    await this.last;
    const before = this.runs.filter(({ frame }) => frame.run.startedAt <= atMs);
    const facts: Facts = {};
    for (const one of standingFacts(before)) if (isOf(one, subject)) facts[one.path] = one.value as Fact;
    if (Object.keys(facts).length === 0) return undefined;
    const seen = before.findLast(({ frame }) => frame.shows.has(subject.kind));
    return { facts, seenAt: seen?.frame.run.startedAt ?? atMs };
  }

  async *changesOf(subject: SubjectRef, fromMs: number, toMs: number) {
    await this.last;
    for (const { frame, changes } of this.runs) {
      const { startedAt: atMs, seq: runSeq } = frame.run;
      if (atMs < fromMs || atMs > toMs) continue;
      for (const change of changes) if (isOf(change, subject)) yield { ...change, atMs, runSeq };
    }
  }

  async ruleSet(hash: string): Promise<RecordedRuleSet | undefined> {
    await this.last;
    return this.runs.find(({ ruleSet }) => ruleSet?.hash === hash)?.ruleSet;
  }
}

function isOf({ kind, subject }: FactChange, ref: SubjectRef): boolean {
  return kind === ref.kind && subject === ref.id;
}

async function* once<T>(items: readonly T[]): AsyncIterable<readonly T[]> {
  if (items.length > 0) yield items;
}

/** What holds after these runs: readings that were not trusted left nothing. */
function standingFacts(runs: readonly RecordedRun[]): FactChange[] {
  const facts = new Map<string, Map<string, FactChange>>();
  for (const { frame, changes } of runs) {
    for (const change of changes) {
      if (isMomentary(frame, change.kind)) continue;
      const key = `${change.kind} ${change.subject}`;
      const own = facts.get(key) ?? new Map<string, FactChange>();
      facts.set(key, own);
      if (change.path === '') facts.delete(key);
      else if (change.value === undefined && !change.secret) own.delete(change.path);
      else own.set(change.path, change);
    }
  }
  return [...facts.values()].flatMap((own) => [...own.values()]);
}
