// pull: one source, API → consumer, record by record, never whole in memory; then the gate. An incomplete or shifted
// pull is repeated once with a fresh consumer; after that the source is untrusted. A list with more records than the
// gate would trust is not read to its end, which may not exist.
import { AppError, lineOf } from '../domain/errors.ts';
import { type Facts, isFacts } from '../domain/facts.ts';
import type { Api, Clock, Page } from '../domain/ports.ts';
import type { Baseline, SourceReading, TrustReason } from '../domain/snapshot.ts';
import type { Source } from '../domain/subjects.ts';
import { readRecord } from './record-key.ts';
import { dropSecrets } from './secrets.ts';
import { distrust, recordsReadMax, type TrustSettings, tooMany } from './trust-gate.ts';

/** Reads the records of one attempt. `values` of its result are compared with the baseline. */
export interface Consumer<Result> {
  accept(record: Facts): void;
  finish(): Result;
}

export interface PullOptions<Result extends { values: Baseline['values'] }> {
  api: Api;
  clock: Clock;
  source: Exclude<Source, 'events'>;
  form: 'paged' | 'unpaged';
  baseline: Baseline | undefined;
  /** A person accepts that the list has grown: it is read up to `trust.recordsMax`. */
  isGrowthAccepted: boolean;
  trust: TrustSettings;
  signal: AbortSignal;
  makeConsumer(): Consumer<Result>;
  /** Called as records come, in each attempt from 0. `total`: the server's count, if it gives one. */
  seen?(count: number, total: number | undefined): void;
}

export interface Pulled<Result> {
  reading: SourceReading;
  /** Undefined when the source could not be read at all. */
  result: Result | undefined;
}

const ATTEMPTS = 2;
const EXAMPLES_MAX = 100;

/**
 * Errors: AppError `api_refused` and `stopped` are thrown, since they end the run; all others become the reading's
 * state.
 */
export async function pullSource<Result extends { values: Baseline['values'] }>(
  options: PullOptions<Result>,
): Promise<Pulled<Result>> {
  let pulled: Pulled<Result> | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    pulled = await pullOnce(options);
    if (!isWorthRepeating(pulled.reading)) break;
  }
  return pulled as Pulled<Result>;
}

function isWorthRepeating(reading: SourceReading): boolean {
  return reading.reasons.some(({ code }) => code === 'incomplete' || code === 'shifted' || code === 'repeated_key');
}

async function pullOnce<Result extends { values: Baseline['values'] }>(
  options: PullOptions<Result>,
): Promise<Pulled<Result>> {
  const { source, clock, api, baseline, trust } = options;
  const readMax = recordsReadMax(baseline, options.isGrowthAccepted, trust);
  const attempt = new Attempt(options.makeConsumer(), source, options.form, clock.nowMs());
  let broken: TrustReason | undefined;
  try {
    options.seen?.(0, undefined);
    for await (const { records, total } of batchesOf(options)) {
      if (options.signal.aborted) throw new AppError('stopped', 'the process is being stopped');
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
  reading.reasons = broken
    ? [broken]
    : distrust({
        reading,
        repeatedKeys: attempt.repeatedKeys,
        values: result.values,
        baseline,
        skewMs: api.skewMs(),
        settings: trust,
      });
  reading.trusted = reading.reasons.length === 0;
  return { reading, result };
}

async function* batchesOf<R extends { values: Baseline['values'] }>(options: PullOptions<R>): AsyncIterable<Page> {
  const { api, source } = options;
  if (options.form === 'paged' && source !== 'services') {
    yield* api.pages(source);
  } else {
    for await (const records of api.stream(source)) yield { records, total: undefined };
  }
}

/** One attempt's counts and keys. */
class Attempt<Result> {
  private readonly keys = new Set<string>();
  private readonly dropped = new Set<string>();
  private readonly unreadable = { count: 0, examples: [] as string[] };
  readonly repeatedKeys: string[] = [];
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
      if (this.unreadable.examples.length < EXAMPLES_MAX)
        this.unreadable.examples.push(`record ${this.seen}: ${read.reason}`);
      return;
    }
    if (this.keys.has(read.key)) {
      if (this.repeatedKeys.length < EXAMPLES_MAX) this.repeatedKeys.push(read.key);
      return;
    }
    this.keys.add(read.key);
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
export function skippedReading(source: Source, nowMs: number): SourceReading {
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
