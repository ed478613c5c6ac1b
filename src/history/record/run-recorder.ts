// history/record: the recorder of an engine. In: what runs saw. Out: it is handed to the desk, one run after another; what cannot be recorded is a
// gap, and is named. INVARIANT: no run waits for it longer than a moment, it never throws into a run, and it holds few runs at most.
import { serialize } from 'node:v8';
import { buffersOf, type Pack, PackList } from '../../base/packed-list.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { type GivenTables, NO_ROWS, ROWS_AS_BEFORE } from '../../domain/given-table.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import {
  type EventRows,
  type HistoryRecorder,
  type RecordForm,
  SeenPrints,
  type SeenRun,
  type SeenSubjects,
} from '../../domain/recorded-history.ts';
import type { Source, SubjectKind } from '../../domain/subjects.ts';
import type { RecordingDesk, SentFrame, SentRun } from './folder-recording.ts';

/** More runs than these are not held: the disk is slower than the runs. */
const WAITING_MAX = 3;
/** What was recorded last is read from the disk once. */
const FIRST_MS_MAX = 120_000;
const BUSY_MS_MAX = 2_000;
/** A reader of the history waits for what is being recorded. */
const SETTLED_MS_MAX = 30_000;
/** Without a step for so long its disk does not answer, and another thread begins. A million devices may take longer, step by step. */
const HUNG_MS = 10 * 60_000;

export interface RecorderState {
  /** Why the last run could not be recorded; undefined: it was. */
  fault: { sinceMs: number; text: string } | undefined;
  recorded: number;
  lost: number;
}

export class RunRecorder implements HistoryRecorder {
  private last: Promise<void> = Promise.resolve();
  private waiting = 0;
  /** Until it is known, nothing is. */
  private recordedToNo = 0;
  private hasAnswered = false;
  private isNew = false;
  private isClosed = false;
  /** Of sources of facts from elsewhere: the hash of the rows that the desk has. */
  private readonly sentRows = new Map<string, string>();
  /** By kind: the list that is, or was, handed over while it grew. */
  private readonly ahead = new Map<SubjectKind, ListAhead>();
  readonly state: RecorderState = { fault: undefined, recorded: 0, lost: 0 };

  constructor(
    private readonly desk: RecordingDesk,
    private readonly store: EventRows,
    private readonly clock: Clock,
    private readonly log: Log,
    readonly lists: ReadonlySet<Source> = new Set(),
  ) {}

  /** Nothing was recorded before: then nobody is asked what was. */
  beginsAnew(): void {
    this.isNew = true;
  }

  prepare(): void {
    // Whether it fails shows when something is asked.
    if (this.isClosed) return;
    this.last.then(() => this.desk.open()).catch(() => undefined);
  }

  get unreadAfterNo(): number | undefined {
    return this.waiting > 0 ? this.recordedToNo : undefined;
  }

  get fault(): string | undefined {
    return this.state.fault?.text;
  }

  /** Nothing when it takes too long, or fails: then all records count as changed. */
  async presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints> {
    if (this.isNew || this.isClosed) return NONE;
    const over = new AbortController();
    const asked = this.last.then(() => this.desk.presentPrints(kind, form));
    const late = this.clock.sleep(this.hasAnswered ? BUSY_MS_MAX : FIRST_MS_MAX, over.signal).then(
      () => undefined,
      () => undefined,
    );
    try {
      const prints = await Promise.race([asked, late]);
      this.hasAnswered = true;
      return prints ?? NONE;
    } catch (error) {
      this.failed(lineOf(error));
      return NONE;
    } finally {
      over.abort();
      asked.catch(() => {});
    }
  }

  /** Of a database of which nothing is recorded: there is nothing to compare with, and most to write. */
  changedList(kind: SubjectKind): PackList | undefined {
    if (!this.isNew || this.isClosed) return undefined;
    return new ListAhead(
      (list) => this.beginsAhead(kind, list),
      (pack, isFirst) => this.handAhead(kind, pack, isFirst),
    );
  }

  /** One of each kind is recorded ahead; in the place of one that was never read to its end, another one. */
  private beginsAhead(kind: SubjectKind, list: ListAhead): boolean {
    const before = this.ahead.get(kind);
    if (before?.isFinished || !this.isNew || this.isClosed) return false;
    before?.end();
    this.ahead.set(kind, list);
    return true;
  }

  /** INVARIANT: it is waited for, as a run is, before the desk is left. */
  private handAhead(kind: SubjectKind, pack: Pack, isFirst: boolean): Promise<void> {
    const handed = this.desk.ahead(kind, pack, isFirst);
    this.last = this.last.then(() => this.unlessHung(handed)).catch(() => undefined);
    return handed;
  }

  private endAhead(): void {
    for (const list of this.ahead.values()) list.end();
  }

  record(run: SeenRun): void {
    if (this.isClosed) {
      this.state.lost += 1;
      return;
    }
    if (this.waiting >= WAITING_MAX) {
      this.state.lost += 1;
      this.failed('runs come faster than they can be recorded');
      return;
    }
    this.waiting += 1;
    this.isNew = false;
    const sent = sentOf(run, this.sentRows);
    this.endAhead();
    this.last = this.last
      .then(() => this.unlessHung(this.hand(sent, run)))
      .then(
        () => this.wasRecorded(),
        (error) => {
          this.state.lost += 1;
          this.failed(lineOf(error));
        },
      )
      .finally(() => {
        this.waiting -= 1;
      });
  }

  settled(): Promise<void> {
    return this.last;
  }

  /** Errors: AppError `store_failed` when it takes too long: what is read then lacks the last run. */
  async settledSoon(): Promise<void> {
    await this.within(SETTLED_MS_MAX, this.last, 'the last run is still being recorded');
  }

  /** INVARIANT: nothing is written afterwards, so that the lock of the database can be released. What is under way adds work: it is waited for, too. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.endAhead();
    for (let awaited: Promise<void> | undefined; awaited !== this.last; ) {
      awaited = this.last;
      await awaited;
    }
    await this.desk.close();
  }

  /** The right to write is lost: what is under way is given up, and no more begins. */
  async cut(): Promise<void> {
    this.isClosed = true;
    this.endAhead();
    await this.desk.close();
  }

  private async hand(
    sent: SentRun,
    { frame, isClockRight, seen }: Pick<SeenRun, 'frame' | 'isClockRight' | 'seen'>,
  ): Promise<void> {
    const { eventsTo, run } = frame;
    const after = await this.desk.eventsAfter({ seq: run.seq, eventsTo });
    this.recordedToNo = after;
    for await (const batch of this.store.eventsBetween(after, eventsTo)) await this.desk.events(batch);
    await this.desk.record(sent);
    this.recordedToNo = eventsTo;
    for (const { prints } of seen) if (prints) SeenPrints.release(prints);
    if (isClockRight) this.tidy();
  }

  private async unlessHung(work: Promise<void>): Promise<void> {
    for (;;) {
      const { steps } = this.desk;
      try {
        await this.within(HUNG_MS, work, `the folder of the history did not answer within ${HUNG_MS / 60_000} minutes`);
        return;
      } catch (error) {
        if (!(error instanceof Late)) throw error;
        if (this.desk.steps !== steps) continue;
        this.desk.restart();
        throw error;
      }
    }
  }

  private async within(ms: number, work: Promise<void>, text: string): Promise<void> {
    const over = new AbortController();
    const late = this.clock.sleep(ms, over.signal).then(
      () => Promise.reject(new Late('store_failed', text)),
      () => undefined,
    );
    try {
      await Promise.race([work, late]);
    } finally {
      over.abort();
      work.catch(() => {});
    }
  }

  /** The next run waits for it, and nothing else does. */
  private tidy(): void {
    const nowMs = this.clock.nowMs();
    this.last = this.last
      .then(() => this.unlessHung(this.desk.tidy(nowMs)))
      .catch((error) => this.failed(lineOf(error)));
  }

  private wasRecorded(): void {
    this.state.recorded += 1;
    if (this.state.fault) this.log.info({}, 'runs are recorded in the history again');
    this.state.fault = undefined;
  }

  /** Once, and not for each run. */
  private failed(text: string): void {
    this.sentRows.clear();
    if (!this.state.fault) this.log.warn({}, `the history could not be recorded, runs go on without it: ${text}`);
    this.state.fault = { sinceMs: this.state.fault?.sinceMs ?? this.clock.nowMs(), text };
  }
}

class Late extends AppError {}

/** More of them wait here, deflated, until some are recorded. */
const AHEAD_BYTES_MAX = 24_000_000;

/** Changed records of a first reading: while it grows, the desk takes packs of it, as fast as it records them. */
class ListAhead extends PackList {
  isFinished = false;
  private isBegun: boolean | undefined;
  private count = 0;
  private underWay = 0;
  private isEnded = false;

  constructor(
    private readonly begin: (list: ListAhead) => boolean,
    private readonly take: (pack: Pack, isFirst: boolean) => Promise<void>,
  ) {
    super();
  }

  override finish(): void {
    this.isFinished = true;
  }

  /** How many packs of it were handed over: what is left goes with the run. */
  end(): number {
    this.isEnded = true;
    return this.count;
  }

  override keep(pack: Uint8Array): void {
    super.keep(pack);
    this.isBegun ??= this.begin(this);
    if (this.isBegun) this.hand();
  }

  private hand(): void {
    while (!this.isEnded && this.underWay < AHEAD_BYTES_MAX) {
      const pack = this.shift();
      if (!pack) return;
      const { length } = pack.bytes;
      this.count += 1;
      this.underWay += length;
      // A deflated one lies beside others.
      const own = pack.isDeflated ? { ...pack, bytes: pack.bytes.slice() } : pack;
      this.take(own, this.count === 1).then(
        () => {
          this.underWay -= length;
          this.hand();
        },
        // The desk knows that it does not have all of them.
        () => this.end(),
      );
    }
  }
}

const NONE: PresentPrints = new Int32Array(0);

function sentOf({ seen, ...rest }: SeenRun, sentRows: Map<string, string>): SentRun {
  const given = rest.frame.given && unsharedOf(rest.frame.given, sentRows);
  const frame = { ...rest.frame, settings: { ...rest.frame.settings }, ...(given && { given }) };
  const plain = { ...rest, frame } satisfies SentFrame;
  const run = serialize(plain);
  const packed = seen.map(({ changed, ...one }) => ({
    ...one,
    ...(changed instanceof ListAhead && { ahead: changed.end() }),
    changed: packsOf(changed),
  }));
  return {
    run,
    seen: packed,
    buffers: [run.buffer as ArrayBuffer, ...packed.flatMap(({ changed }) => buffersOf(changed))],
  };
}

/** Rows that the desk had last are not sent again. `sent`: by source, of which hash they were. */
function unsharedOf(tables: GivenTables, sent: Map<string, string>): GivenTables {
  return new Map(
    [...tables].map(([name, { rows, ...state }]) => {
      const isSent = state.doubt !== undefined || sent.get(name) === state.hash;
      if (!isSent) sent.set(name, state.hash);
      const { count, bytes, places } = isSent ? { ...NO_ROWS, count: ROWS_AS_BEFORE } : rows;
      return [name, { ...state, rows: { count, bytes: Uint8Array.from(bytes), places: Uint32Array.from(places) } }];
    }),
  );
}

function packsOf(changed: SeenSubjects['changed']): readonly Pack[] {
  return changed instanceof PackList ? changed.packs : [...changed].map((bytes) => ({ bytes, isDeflated: false }));
}
