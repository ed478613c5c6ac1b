// domain: the ports. Stages reach the world only through these; compose.ts provides them.
import { formatDuration } from '../base/time.ts';
import type { Facts } from './facts.ts';
import type { ListPiece, PieceRead } from './lists.ts';

/** One attempt. Each retry is one more. */
interface ApiCall {
  /** The operation's name, such as `list_devices`: never an address. */
  operation: string;
  /** The status of the answer, or the cause without one: `200`, `too_slow`, `unreachable`. */
  answer: string;
  /** Until the last byte; of a list that is read element by element, until the answer began. */
  ms: number;
}

/** Called often: each returns at once and never throws. */
export interface ApiListener {
  called(call: ApiCall): void;
  /** A read failed and will be tried again. */
  retried(operation: string): void;
}

// The quiet period: how long after a doubtful call its effect may still come, and a read may be stale.

/** Of the calls of the last hour. Reads and writes are measured apart: a few slow writes would vanish among many reads. */
export interface Latency {
  p99Ms: number;
  calls: number;
  /** The slower kind. */
  kind: 'read' | 'write';
}

/** Before the first. */
export const NO_CALLS: Latency = { p99Ms: 0, calls: 0, kind: 'read' };

/** As an earlier process measured it. */
export interface KeptLatency extends Latency {
  /** When, by the wall clock. */
  atMs: number;
}

export interface QuietPeriod {
  ms: number;
  configuredMs: number;
  latency: Latency;
}

export interface QuietTime {
  /** In force now. */
  read(): QuietPeriod;
  /** Stored with each outcome: the next process starts with it. */
  latency(): KeptLatency;
  /** Stored with each attempt: as if its answer never comes. */
  unanswered(): KeptLatency;
}

/** A latency counts for so long. */
export const MEASURED_MS = 3_600_000;

/** The name of its line in `/readyz` and `doctor`. */
export const QUIET_PERIOD = 'quiet period';

const FACTOR = 3;
/** What is measured never makes the period longer. */
const MEASURED_QUIET_MS_MAX = 600_000;

export function quietPeriod(configuredMs: number, latency: Latency): QuietPeriod {
  const measuredMs = Math.min(FACTOR * latency.p99Ms, MEASURED_QUIET_MS_MAX);
  return { ms: Math.max(configuredMs, measuredMs), configuredMs, latency };
}

/** `1m: 3 × 20s, the 99th percentile of 7 write calls in the last hour`. */
export function describeQuietPeriod({ ms, configuredMs, latency }: QuietPeriod): string {
  const { p99Ms, calls, kind } = latency;
  const of = `${calls} ${kind} call${calls === 1 ? '' : 's'} in the last hour`;
  const measured = `${FACTOR} × ${rounded(p99Ms)}, the 99th percentile of ${of}`;
  if (calls === 0) return `${rounded(ms)}: as configured; no call was measured in the last hour`;
  if (ms === configuredMs) return `${rounded(ms)}: as configured; ${measured}, is less`;
  return FACTOR * p99Ms > ms ? `${rounded(ms)}: the most; ${measured}, is more` : `${rounded(ms)}: ${measured}`;
}

/** In steps that people read: seconds from ten on. */
function rounded(ms: number): string {
  return formatDuration(ms < 10_000 ? Math.ceil(ms) : Math.ceil(ms / 1_000) * 1_000);
}

/** The only source of time. `monotonicMs` counts from the machine's start and never jumps: for timeouts and durations. */
export interface Clock {
  nowMs(): number;
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with AppError `stopped` when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** New identifiers: sortable by time, unique. */
export interface Ids {
  next(): string;
}

/** A number in [0, 1). */
export interface Random {
  next(): number;
}

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The result of a writing request. Doubtful: it may or may not have had its effect. */
export type WriteAnswer =
  | { kind: 'done'; status: number; text: string }
  | { kind: 'failed'; status: number | undefined; text: string }
  | { kind: 'doubtful'; status: number | undefined; text: string };

/** One page of a list, or a part of one. `total` is the server's count of all matches; undefined when it gives none. */
export interface Page {
  records: unknown[];
  total: number | undefined;
}

/** A service's spec: `metadata` names the service. */
export type ServiceSpecFacts = Facts & { metadata: Facts & { name: string; cluster: string } };

/** What is read of a bundle: `id` and `service_ids`, checked where they are used. */
export interface BundleFacts {
  id?: unknown;
  service_ids?: unknown;
}

export interface EventQuery {
  order?: 'ASC' | 'DESC';
  /** Epoch ms, inclusive. */
  afterMs?: number;
  beforeMs?: number;
  serviceName?: string;
  skip?: number;
  limit?: number;
}

/**
 * The Management API, as the engine uses it. Reads are retried inside (jitter, Retry-After, total deadline); writes never.
 * Errors of reads: AppError `api_unreachable`, `api_refused` (401), `api_forbidden` (403), `api_answer`, `stopped`.
 */
export interface Api {
  /** Base address without credentials, for the database's binding and for messages. */
  readonly address: string;
  /**
   * All pages of devices or users, in order, several read at once. Totals and page boundaries are checked: a list that
   * changed during the read is AppError `api_answer` with `detail.cause` `shifted`.
   */
  pages(source: 'devices' | 'users'): AsyncIterable<Page>;
  /**
   * The same records in pieces of bytes, which `read` parses where it likes, several at once. Results come in the order of the list,
   * and boundaries are checked as by `pages` and `stream`. A list that does not divide into pieces is AppError `api_answer`.
   */
  inPieces?<T>(
    source: 'devices',
    form: 'paged' | 'unpaged',
    read: (piece: ListPiece) => Promise<PieceRead<T>>,
  ): AsyncIterable<PieceRead<T>>;
  /** The unpaged list, element by element, in batches: never whole in memory. Complete, or it throws. */
  stream(source: 'devices' | 'users' | 'services'): AsyncIterable<unknown[]>;
  /**
   * All devices of a serial number, filtered again here: a server may ignore its filter. With `recordsMax`, as in the lookups
   * below, such a server's list is read up to that number of records: then AppError `api_answer`, `detail.cause` `unfiltered`.
   */
  devicesOfSerial(serialNumber: string, recordsMax?: number): Promise<Facts[]>;
  /** The device of this DeviceID, or undefined. Older servers cannot look it up: their list is read, and `recordsMax` counts. */
  device(deviceId: string, recordsMax: number): Promise<Facts | undefined>;
  /** The service of this id, or undefined. */
  service(serviceId: string, recordsMax?: number): Promise<Facts | undefined>;
  /** The end user of this e-mail, in the unpaged form, or undefined. */
  user(email: string, recordsMax?: number): Promise<Facts | undefined>;
  events(query: EventQuery): Promise<unknown[]>;
  /** The number of matching events; the console's 10,001 means "more than it counts". */
  countEvents(query: EventQuery): Promise<number>;
  /** Server time (its `Date` header, whole seconds) minus ours, ms, from the last answer; undefined before one. */
  skewMs(): number | undefined;
  /** Of its calls in the last hour, as far as this process made them. */
  latency(): Latency;
  /** What a call without an answer counts as in `latency`, ms. */
  unansweredMs(): number;
  updateDevices(serialNumber: string, devices: Facts[]): Promise<WriteAnswer>;
  deleteDevice(serialNumber: string, email?: string): Promise<WriteAnswer>;
  enableService(serviceId: string): Promise<WriteAnswer>;
  disableService(serviceId: string): Promise<WriteAnswer>;
  /** Updates the service that the spec's `metadata` names; creates it when none exists. */
  insertService(spec: ServiceSpecFacts): Promise<WriteAnswer>;
  deleteService(serviceId: string): Promise<WriteAnswer>;
  addServiceToBundle(bundleId: string, serviceId: string): Promise<WriteAnswer>;
  removeServiceFromBundle(bundleId: string, serviceId: string): Promise<WriteAnswer>;
  /** Bundles, possibly not all of them; undefined when the server does not list any. */
  listBundles(): Promise<readonly BundleFacts[] | undefined>;
  /** From now on the listener hears of each request. There is one; a port without requests has none. */
  watchCalls?(listener: ApiListener): void;
  close(): Promise<void>;
}

/** What reading a target back needs: single records, and the list of bundles. It cannot write. */
export type TargetReads = Pick<Api, 'devicesOfSerial' | 'user' | 'service' | 'listBundles'>;
