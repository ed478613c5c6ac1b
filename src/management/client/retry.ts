// management client: when a read is retried, and when it is given up. Writes never come here. In: one attempt as a
// function. Out: its answer, or the last failure as an AppError, within one total deadline.
import type { Head } from './exchange.ts';
import { type FaultCause, problem, problemOfFault, type Subject, TransportFault } from './fault.ts';
import type { Settings } from './options.ts';

const PAUSE_MS_FIRST = 200;
const PAUSE_MS_MAX = 5_000;

/**
 * Faults that another attempt may not meet. Damaged or oversized answers are not among them: nothing is done with
 * those.
 */
const PASSING: ReadonlySet<FaultCause> = new Set(['unreachable', 'broken', 'truncated', 'too_slow']);

export type RetrySettings = Pick<
  Settings,
  'retries' | 'requestTimeoutMs' | 'progressTimeoutMs' | 'clock' | 'random' | 'signal' | 'calls'
>;

/**
 * Runs attempts until one answers with a status that stays. `attempt` gets the time it may take, ms.
 * Errors: AppError `stopped`; the attempt's own AppErrors as they are; faults as `api_unreachable` or `api_answer`.
 */
export async function retryRead<T extends Head>(
  settings: RetrySettings,
  about: Subject & { operation: string },
  attempt: (timeoutMs: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const begunAtMs = settings.clock.monotonicMs();
  const endsAtMs = begunAtMs + settings.progressTimeoutMs;
  for (let tried = 0; ; tried++) {
    const leftMs = Math.max(1, endsAtMs - settings.clock.monotonicMs());
    const result = await outcome(attempt(Math.min(settings.requestTimeoutMs, leftMs)));
    if (result instanceof TransportFault ? !PASSING.has(result.why) : !isPassing(result.status)) {
      if (result instanceof TransportFault) throw problemOfFault(about, result);
      return result;
    }
    const askedMs = result instanceof TransportFault ? undefined : retryAfterMs(result, settings.clock.nowMs());
    const pauseMs = (askedMs ?? 0) + settings.random.next() * Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** tried);
    const timeIsUp = settings.clock.monotonicMs() + pauseMs >= endsAtMs;
    if (tried >= settings.retries || timeIsUp) {
      const last =
        isTooSlow(result) && tried > 0 ? tooSlow(settings.clock.monotonicMs() - begunAtMs, tried + 1) : result;
      return giveUp(about, last, askedMs);
    }
    await pause(settings, pauseMs, signal);
    settings.calls.retried(about.operation);
  }
}

async function outcome<T>(attempt: Promise<T>): Promise<T | TransportFault> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof TransportFault) return error;
    throw error;
  }
}

function isTooSlow(result: unknown): boolean {
  return result instanceof TransportFault && result.why === 'too_slow';
}

/** The last attempt had only the rest of the time: people read how long was waited in all. */
function tooSlow(waitedMs: number, attempts: number): TransportFault {
  return new TransportFault(
    'too_slow',
    true,
    `no complete answer within ${Math.ceil(waitedMs)} ms, in ${attempts} attempts`,
  );
}

function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

function giveUp<T extends Head>(about: Subject, result: T | TransportFault, askedMs: number | undefined): T {
  if (result instanceof TransportFault) throw problemOfFault(about, result);
  if (result.status === 429 && askedMs !== undefined) {
    const words = `the server asks to wait ${Math.ceil(askedMs / 1_000)} s (429): run less often, or try later`;
    throw problem('api_answer', about, 'status', words);
  }
  return result; // the reader of the answer interprets its status
}

/** Both forms: seconds, and a date. undefined when there is none or it makes no sense. */
export function retryAfterMs(head: Head, nowMs: number): number | undefined {
  const header = head.headers['retry-after']?.trim();
  if (header === undefined || header === '') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // A date is on the server's clock: the answer's own `Date` shows the time there.
  const at = Date.parse(header);
  const now = Date.parse(head.headers.date ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(now) ? nowMs : now));
}

async function pause(settings: RetrySettings, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const signals = [settings.signal, signal].filter((each) => each !== undefined);
  await settings.clock.sleep(ms, signals.length === 0 ? undefined : AbortSignal.any(signals));
}
