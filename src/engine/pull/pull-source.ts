// pull: one source, API → consumer, record by record, never whole in memory; then the gate. An incomplete or shifted
// pull is repeated once with a fresh consumer; after that the source is untrusted. A list with more records than the
// gate would trust is not read to its end, which may not exist.
import { giveWay } from '../../base/turns.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { type Facts, isFacts } from '../../domain/facts.ts';
import type { Api, Clock, Page } from '../../domain/ports.ts';
import type { RecordPart } from '../../domain/record-part.ts';
import type { Baseline, Movement, Sight, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import type { ReadingName, Source } from '../../domain/subjects.ts';
import { KeySet, readRecord } from './fleet-index.ts';
import { followMovement, type MovedSource } from './stand-still.ts';
import { distrust, dropSecrets, type GateInput, recordsReadMax, type TrustSettings, tooMany } from './trust-gate.ts';

/** Reads the records of one attempt. */
export interface Consumer<Result> {
  accept(record: Facts): void;
  finish(): Result;
}

/** What is compared of a whole reading with earlier ones. */
interface Compared {
  values: Baseline['values'];
  sight: Sight;
}

export interface PullOptions<Result extends Compared> {
  api: Api;
  clock: Clock;
  source: Exclude<Source, 'events'>;
  form: 'paged' | 'unpaged';
  baseline: Baseline | undefined;
  /** How lists of this form moved so far. */
  moved: MovedSource;
  /** A person accepts that the list has grown: it is read up to `trust.recordsMax`. */
  isGrowthAccepted: boolean;
  trust: TrustSettings;
  signal: AbortSignal;
  makeConsumer(): Consumer<Result>;
  /** For large lists: reads and judges their parts in other threads. */
  inParts?: PartsPull<Result> | undefined;
  /** Called as records come, in each attempt from 0. `total`: the server's count, if it gives one. */
  seen?(count: number, total: number | undefined): void;
}

export interface PartsPull<Result> {
  /** From so many records on. */
  recordsMin: number;
  /** A fresh consumer, and the parts of the list in order; undefined when these must be read in the main thread. */
  begin(): Promise<PartsUnderWay<Result> | undefined>;
}

export interface PartsUnderWay<Result> {
  consumer: PartConsumer<Result>;
  parts: AsyncIterable<{ result: RecordPart; total: number | undefined }>;
}

export interface PartConsumer<Result> {
  accept(part: RecordPart): void;
  finish(): Result;
}

export interface Pulled<Result> {
  reading: SourceReading;
  /** Undefined when the source could not be read at all. */
  result: Result | undefined;
  /** With this reading, if it is whole. */
  movement?: Movement | undefined;
}

const ATTEMPTS = 2;
export const EXAMPLES_MAX = 100;

/**
 * Errors: AppError `api_refused` and `stopped` are thrown, since they end the run; all others become the reading's
 * state.
 */
export async function pullSource<Result extends Compared>(options: PullOptions<Result>): Promise<Pulled<Result>> {
  const { inParts, baseline } = options;
  let isInParts = inParts !== undefined && (baseline?.count ?? 0) >= inParts.recordsMin;
  let pulled: Pulled<Result> | typeof LARGE | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (isInParts) {
      const whole = await pullParts(options);
      if (whole) return whole;
      isInParts = false;
      continue;
    }
    pulled = await pullOnce(options, attempt === 1 && baseline === undefined ? inParts?.recordsMin : undefined);
    if (pulled === LARGE) {
      isInParts = true;
      attempt -= 1;
    } else if (!isWorthRepeating(pulled.reading)) break;
  }
  return pulled as Pulled<Result>;
}

/** A first reading turned out to be one for other threads: it begins again there. */
const LARGE = Symbol('large');

/**
 * One attempt in other threads; undefined when anything is not as it should be: then one thread alone reads the list again, and what it
 * finds is reported. So the result never depends on how the list was read. Errors: as pullSource.
 */
async function pullParts<Result extends Compared>(options: PullOptions<Result>): Promise<Pulled<Result> | undefined> {
  const { source, clock, baseline, trust, inParts } = options;
  if (!inParts) return undefined;
  const readMax = recordsReadMax(baseline, options.isGrowthAccepted, trust);
  const keys = new KeySet(baseline?.count);
  const unreadable = { count: 0, examples: [] as string[] };
  const startedAt = clock.nowMs();
  let [seen, count, overlong] = [0, 0, 0];
  try {
    const underWay = await inParts.begin();
    if (!underWay) return undefined;
    const { consumer, parts } = underWay;
    options.seen?.(0, undefined);
    for await (const { result: part, total } of parts) {
      if (options.signal.aborted) throw new AppError('stopped', 'the process is being stopped');
      if (seen + part.seen > readMax || !keys.addPart(part.keys)) return undefined;
      for (const { at, reason } of part.unreadable.examples.slice(0, EXAMPLES_MAX - unreadable.examples.length))
        unreadable.examples.push(`record ${seen + at}: ${reason}`);
      unreadable.count += part.unreadable.count;
      overlong += part.unreadable.overlong;
      seen += part.seen;
      count += part.seen - part.unreadable.count;
      consumer.accept(part);
      options.seen?.(seen, total);
      await giveWay(); // the next part may be here already
    }
    const result = consumer.finish();
    const reading = {
      ...skippedReading(source, startedAt),
      state: 'read' as const,
      form: options.form,
      count,
      unreadable,
    };
    return judged({ ...reading, finishedAt: clock.nowMs() }, { repeatedKeys: [], overlong }, result, options);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
    return undefined;
  }
}

function isWorthRepeating(reading: SourceReading): boolean {
  return reading.reasons.some(({ code }) => code === 'incomplete' || code === 'shifted' || code === 'repeated_key');
}

async function pullOnce<Result extends Compared>(
  options: PullOptions<Result>,
  recordsLarge = Number.POSITIVE_INFINITY,
): Promise<Pulled<Result> | typeof LARGE> {
  const { source, clock, baseline, trust } = options;
  const readMax = recordsReadMax(baseline, options.isGrowthAccepted, trust);
  const attempt = new Attempt(options.makeConsumer(), source, options.form, clock.nowMs());
  let broken: TrustReason | undefined;
  try {
    options.seen?.(0, undefined);
    for await (const { records, total } of batchesOf(options)) {
      if (options.signal.aborted) throw new AppError('stopped', 'the process is being stopped');
      if (Math.max(total ?? 0, attempt.seen) >= recordsLarge) return LARGE;
      const isInBounds = attempt.take(records, readMax);
      options.seen?.(attempt.seen, total);
      if (isInBounds) continue;
      broken = tooMany(source, readMax, baseline, trust);
      break;
    }
  } catch (error) {
    broken = reasonOf(error, source, attempt.seen);
    if (broken === undefined) return { reading: attempt.unread(error, clock.nowMs()), result: undefined };
  }
  const result = attempt.consumer.finish();
  const reading = attempt.reading(clock.nowMs());
  if (broken) return { reading: { ...reading, reasons: [broken], trusted: false }, result };
  return judged(reading, attempt, result, options);
}

/** The reading of a whole list, with whether it is trusted. */
function judged<Result extends Compared>(
  reading: SourceReading,
  attempt: Pick<GateInput, 'repeatedKeys' | 'overlong'>,
  result: Result,
  { api, baseline, moved, trust: settings }: PullOptions<Result>,
): Pulled<Result> {
  const { repeatedKeys, overlong } = attempt;
  const { movement, still } = followMovement(moved, result.sight, reading.finishedAt, settings);
  const compared = { reading, repeatedKeys, overlong, values: result.values, baseline, still };
  const reasons = distrust({ ...compared, skewMs: api.skewMs(), settings });
  return { reading: { ...reading, reasons, trusted: reasons.length === 0 }, result, movement };
}

async function* batchesOf<R extends Compared>(options: PullOptions<R>): AsyncIterable<Page> {
  const { api, source } = options;
  if (options.form === 'paged' && source !== 'services') {
    yield* api.pages(source);
  } else {
    for await (const records of api.stream(source)) yield { records, total: undefined };
  }
}

/** One attempt's counts and keys. */
class Attempt<Result> {
  private readonly keys = new KeySet();
  private readonly dropped = new Set<string>();
  private readonly unreadable = { count: 0, examples: [] as string[] };
  readonly repeatedKeys: string[] = [];
  overlong = 0;
  seen = 0;
  private count = 0;

  constructor(
    readonly consumer: Consumer<Result>,
    private readonly source: Exclude<Source, 'events'>,
    private readonly form: 'paged' | 'unpaged',
    private readonly startedAt: number,
  ) {}

  /** Takes records up to `max` in all; returns whether these were all. */
  take(batch: unknown[], max: number): boolean {
    for (const value of batch) {
      if (this.seen === max) return false;
      this.takeOne(value);
    }
    return true;
  }

  private takeOne(value: unknown): void {
    this.seen += 1;
    const read = readRecord(this.source, value);
    if (!read.ok) {
      this.unreadable.count += 1;
      if (read.isOverlong) this.overlong += 1;
      if (this.unreadable.examples.length < EXAMPLES_MAX)
        this.unreadable.examples.push(`record ${this.seen}: ${read.reason}`);
      return;
    }
    if (!this.keys.add(read.key)) {
      if (this.repeatedKeys.length < EXAMPLES_MAX) this.repeatedKeys.push(read.key);
      return;
    }
    this.count += 1;
    this.consumer.accept(this.source === 'services' ? dropSecrets(read.record, this.dropped) : read.record);
  }

  reading(finishedAt: number): SourceReading {
    return {
      source: this.source,
      state: 'read',
      form: this.form,
      startedAt: this.startedAt,
      finishedAt,
      count: this.count,
      unreadable: this.unreadable,
      dropped: [...this.dropped],
      trusted: true,
      reasons: [],
    };
  }

  /** Not one record came: 403 is an edition without this source, anything else a failure. */
  unread(error: unknown, finishedAt: number): SourceReading {
    const forbidden = error instanceof AppError && error.code === 'api_forbidden';
    return {
      ...this.reading(finishedAt),
      state: forbidden ? 'unavailable' : 'failed',
      trusted: false,
      reasons: [
        {
          source: this.source,
          code: forbidden ? 'unavailable' : 'incomplete',
          text: `${this.source}: ${lineOf(error)}`,
        },
      ],
    };
  }
}

/** The reason of a pull that broke in the middle; undefined when nothing was read. Throws errors that end the run. */
function reasonOf(error: unknown, source: Source, seen: number): TrustReason | undefined {
  if (!(error instanceof AppError)) throw error;
  if (error.code === 'api_refused' || error.code === 'stopped') throw error;
  const shifted = isFacts(error.detail) && error.detail.cause === 'shifted';
  if (shifted) return { source, code: 'shifted', text: `${source}: ${lineOf(error)}` };
  return seen === 0
    ? undefined
    : { source, code: 'incomplete', text: `${source}: after ${seen} records: ${lineOf(error)}` };
}

/** The reading of a source that no rule reads. */
export function skippedReading(source: ReadingName, nowMs: number): SourceReading {
  return {
    source,
    state: 'skipped',
    form: 'none',
    startedAt: nowMs,
    finishedAt: nowMs,
    count: 0,
    unreadable: { count: 0, examples: [] },
    dropped: [],
    trusted: true,
    reasons: [],
  };
}
