// management client: an unpaged list, read element by element, so that a fleet of a million is never in memory whole.
// In: a request for a list. Out: batches of parsed elements; complete, or it throws. Time counts from element to
// element: a server that drips bytes makes no progress, and a slow reader causes no timeout.
import { AppError } from '../../domain/errors.ts';
import { causeOf, problem, problemOfFault, TransportFault } from './fault.ts';
import type { Settings } from './options.ts';
import { refuseStatus } from './read-answer.ts';
import type { Redactor } from './redactor.ts';
import { retryRead } from './retry.ts';
import type { Session } from './session.ts';
import type { OpenAnswer, Outgoing } from './transport.ts';

/** Cuts the list's bytes. What it returns is passed on. */
export interface Splitter<T> {
  push(chunk: Buffer): T | undefined;
  /** Whether the last chunk had the end of an element. */
  readonly isMoving: boolean;
  /** The rest; throws unless the list was complete. */
  end(): T | undefined;
}

/** Batches of elements, in order. Errors: AppError as of every read; retried only until the answer has begun. */
export async function* streamList<T>(
  session: Session,
  settings: Settings,
  redactor: Redactor,
  outgoing: Outgoing,
  splitter: Splitter<T>,
): AsyncGenerator<T, void> {
  const { clock, progressTimeoutMs } = settings;
  let waitedMs = 0;
  const chunkTimeoutMs = () => Math.max(1, progressTimeoutMs - waitedMs);
  const answer = await retryRead(settings, outgoing, (timeoutMs) =>
    session.open(outgoing, 'user', { timeoutMs, chunkTimeoutMs }),
  );
  try {
    refuseStatus(outgoing, answer, answer.body, redactor);
    let bytes = 0;
    for (;;) {
      const startedMs = clock.monotonicMs();
      const { value: chunk, done } = await answer.chunks.next();
      waitedMs += clock.monotonicMs() - startedMs;
      if (done) break;
      bytes += chunk.length;
      if (bytes > settings.streamBytesMax) throw tooLarge(`is larger than ${settings.streamBytesMax} bytes`);
      const elements = splitter.push(chunk);
      if (splitter.isMoving) waitedMs = 0;
      else if (waitedMs >= progressTimeoutMs) throw noProgress(progressTimeoutMs);
      if (elements !== undefined) yield elements;
    }
    const left = splitter.end();
    if (left) yield left;
  } catch (error) {
    throw problemOfStream(outgoing, error, progressTimeoutMs);
  } finally {
    await finish(answer);
  }
}

function problemOfStream(outgoing: Outgoing, error: unknown, progressTimeoutMs: number): unknown {
  // The last chunk had only the rest of the time: people read how long was waited in all.
  if (error instanceof TransportFault && error.why === 'too_slow') {
    return problemOfFault(outgoing, noProgress(progressTimeoutMs));
  }
  if (error instanceof TransportFault) return problemOfFault(outgoing, error);
  if (error instanceof AppError && (causeOf(error) === 'garbage' || causeOf(error) === 'too_deep')) {
    const cause = causeOf(error) as 'garbage' | 'too_deep';
    return problem('api_answer', outgoing, cause, `the answer cannot be used: ${error.message}`);
  }
  return error;
}

async function finish(answer: OpenAnswer): Promise<void> {
  answer.close();
  await answer.chunks.return();
}

export function tooLarge(words: string): TransportFault {
  return new TransportFault('too_large', true, `the list ${words}`);
}

function noProgress(ms: number): TransportFault {
  return new TransportFault('too_slow', true, `no new record within ${ms} ms`);
}
