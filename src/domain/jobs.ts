// domain: the jobs of organizations, which any worker carries out: what is asked for, in which order, and what becomes of it. The port
// that `jobs/` implements on PostgreSQL.
import type { ErrorCode } from './errors.ts';

// The lanes in which work of one organization waits: whose goes first, and how much of it may wait.

interface LaneBounds {
  /** Work that may wait, in all and of one asker. What is under way takes no place. */
  placesMax: number;
  placesEachMax: number;
  /** After this much work of other lanes went before it, the lane is next: no lane starves another. */
  passedMax: number;
  /** What waits, in a refusal. */
  what: string;
}

/** INVARIANT: in the order in which they are served. */
export const LANES = {
  schedule: { placesMax: 1, placesEachMax: 1, passedMax: 1, what: 'scheduled runs' },
  operator: { placesMax: 20, placesEachMax: 10, passedMax: 1, what: 'operator commands' },
  watch: { placesMax: 1, placesEachMax: 1, passedMax: 2, what: 'looks at the event log' },
  request: { placesMax: 20, placesEachMax: 5, passedMax: 8, what: 'requested runs' },
} as const satisfies Record<string, LaneBounds>;

export type Lane = keyof typeof LANES;
export const LANE_NAMES = Object.keys(LANES) as readonly Lane[];

/**
 * Why `by` gets no place in a lane where `waiting` waits; undefined: there is one. Places are counted for each token; undefined is Trustward
 * itself, which is bound by those of the lane alone.
 */
export function refusalIn(
  lane: Lane,
  waiting: readonly { by: string | null | undefined }[],
  by: string | undefined,
): string | undefined {
  const { placesMax, placesEachMax, what } = LANES[lane];
  const own = by === undefined ? 0 : waiting.filter((one) => one.by === by).length;
  const isOwn = own >= placesEachMax;
  if (!isOwn && waiting.length < placesMax) return undefined;
  const whose = isOwn ? ` of the token \`${by}\`` : '';
  return `${isOwn ? own : waiting.length} ${what}${whose} are already waiting: try again later`;
}

const RETRY_MS = { min: 1_000, max: 60_000 };

/** When to ask again, ms: a place is free when the work under way has ended, which takes about as long as the last one took. */
export function retryAfterMsOf(lastTookMs: number): number {
  return Math.min(Math.max(lastTookMs, RETRY_MS.min), RETRY_MS.max);
}

interface KindRules {
  /** Jobs in a lane act or may act: one at a time for each organization. The others go beside them, one of each kind. */
  lane: Lane | undefined;
  /** Whether it is begun anew when its worker died. What a person asked for is not: some of it may have been done. */
  isBegunAgain: boolean;
  /** Whether somebody may still want it, or its answer, only for a while. */
  isAwaited: boolean;
}

export const JOB_KINDS = {
  /** A scheduled run. */
  run: { lane: 'schedule', isBegunAgain: true, isAwaited: false },
  /** A person's command that calls the API: apply a plan, release, resolve. */
  operate: { lane: 'operator', isBegunAgain: false, isAwaited: true },
  look: { lane: 'watch', isBegunAgain: true, isAwaited: false },
  /** A run on demand. */
  request: { lane: 'request', isBegunAgain: true, isAwaited: true },
  deliver: { lane: undefined, isBegunAgain: true, isAwaited: false },
  /** Polls transmitters of signals, and watches their streams. */
  signals: { lane: undefined, isBegunAgain: true, isAwaited: false },
  /** Reads the sources of facts from elsewhere that are due. */
  sources: { lane: undefined, isBegunAgain: true, isAwaited: false },
  retention: { lane: undefined, isBegunAgain: true, isAwaited: false },
} as const satisfies Record<string, KindRules>;

export type JobKind = keyof typeof JOB_KINDS;
export const JOB_KIND_NAMES = Object.keys(JOB_KINDS) as readonly JobKind[];

export type JobValue = null | boolean | number | string | readonly JobValue[] | { readonly [key: string]: JobValue };

/** INVARIANT: no secret and no name of a subject: the jobs of all organizations are in one table without row level security. */
export interface JobAsk {
  organization: string;
  kind: JobKind;
  payload: JobValue;
  /** The token of who asks; undefined for Trustward itself. Places are counted for each. */
  by?: string | undefined;
  /** A job that waits under the same text is this one, too. Jobs beside the lanes have their kind as this text. */
  same?: string | undefined;
}

export interface JobTicket {
  id: string;
  /** Equal work was waiting already. */
  isJoined: boolean;
}

/** Why a job has no value. INVARIANT: of an error of its handler it has the code alone: the text of one may name subjects. */
export interface JobFault {
  code: ErrorCode;
  message: string;
  retryAfterMs?: number | undefined;
}

export type JobState =
  | { kind: 'waiting' }
  /** `value`: what the handler had to show before the end; undefined so far. */
  | { kind: 'begun'; value: JobValue | undefined }
  | { kind: 'done'; value: JobValue }
  | { kind: 'failed'; fault: JobFault };

export interface AwaitJob {
  organization: string;
  id: string;
  /** `begun`: also what the handler shows before its end is an answer. */
  until: 'begun' | 'ended';
  timeoutMs: number;
  signal: AbortSignal;
}

/** A job at its worker. */
export interface Job {
  id: string;
  organization: string;
  kind: JobKind;
  payload: JobValue;
  by: string | undefined;
  /** 0 at first; more after the death of a worker. */
  takeovers: number;
  waitedMs: number;
  /** Aborts when the job is no longer this worker's: it has been given to another one. */
  lost: AbortSignal;
  /** Shows a value to those who wait, before the end. */
  begun(value: JobValue): Promise<void>;
}

/** Its value is the answer; the code of its error is one, too. */
export type JobHandler = (job: Job) => Promise<JobValue>;

export interface WorkSettings {
  handlers: Readonly<Record<JobKind, JobHandler>>;
  /** Jobs at the same time: in lanes, of different organizations, and beside them. */
  concurrency: { lanes: number; beside: number };
  /** Those that this worker serves now. It leaves the jobs of others to other workers. */
  organizations(): ReadonlySet<string>;
  /** Nothing new is taken after it. */
  signal: AbortSignal;
}

/** Regular work of one organization. */
export interface JobSchedule {
  organization: string;
  kind: JobKind;
  /** The first time after `ms`, epoch ms; undefined: never again. */
  nextMs(afterMs: number): number | undefined;
  /** How many times lie after `afterMs`, up to `untilMs`. */
  timesBetween(afterMs: number, untilMs: number): number;
}

/** What waits and what is under way. */
export interface JobCount {
  organization: string;
  kind: JobKind;
  waiting: number;
  underWay: number;
  /** 0 when nothing waits. */
  waitingMsMax: number;
}

/** A run takes seconds, and others may go first. */
export const WAITS_LONG_MS = 60_000;

/** Whether jobs wait for long and nobody takes them: what waits behind work under way is not forgotten. */
export function areForgotten({ waitingMsMax, underWay }: Pick<JobCount, 'waitingMsMax' | 'underWay'>): boolean {
  return waitingMsMax > WAITS_LONG_MS && underWay === 0;
}

/** A process that takes jobs. */
export interface Working {
  /** What was under way when it was asked to stop has ended, too. */
  ended: Promise<void>;
  /** When it last looked for jobs, epoch ms; now while all of its places are taken. */
  fetchedAtMs(): number;
}

export interface Jobs {
  /** Errors: AppError `busy` when too much waits, `usage`, `store_failed`. */
  ask(job: JobAsk): Promise<JobTicket>;
  /**
   * The state when it is an answer, or when the time is over. Answers of a person's jobs are kept for ten minutes, others for one. Errors: AppError
   * `not_found` (also for a job of another organization), `stopped` when `signal` aborts.
   */
  answerOf(wanted: AwaitJob): Promise<JobState>;
  /** Takes jobs until `signal` aborts. */
  work(settings: WorkSettings): Promise<Working>;
  /**
   * Asks for each schedule's job in time, until `signal` aborts; any number of workers may do it for the same schedules. Missed times become one job,
   * with `{ missed, lateMs }` as payload: how many times beyond it, and how long after the first of them it was asked for. The first job of a new
   * schedule is asked for at once.
   */
  keepSchedules(schedules: () => readonly JobSchedule[], signal: AbortSignal): Promise<void>;
  counts(): Promise<readonly JobCount[]>;
  close(): Promise<void>;
}

export const PRIORITY_MAX = 10;

/**
 * The priority of a job that begins to wait; a higher one goes first, and the older one of two equals. It rises by one for each job of another lane
 * that goes before it: after `passedMax` of them at the latest, nothing that comes later goes before it.
 */
export function priorityOf(kind: JobKind): number {
  const { lane } = JOB_KINDS[kind];
  return lane === undefined || lane === LANE_NAMES[0] ? PRIORITY_MAX : PRIORITY_MAX - LANES[lane].passedMax;
}

export interface LaneCounters {
  /** Requests that got a place, or joined equal work that waited. */
  accepted: number;
  joined: number;
  refused: number;
  done: number;
  failed: number;
  waitMsMax: number;
  /** Of the last request; undefined when that was accepted. */
  refusal: { at: number; reason: string } | undefined;
}
