// system: the command of a process, until it has settled. In: its promise. Out: the same. Node ends a process with exit code 13 when nothing keeps it
// alive, also while it waits for an answer. Here such an answer gets some time to come, and if it does not, the failure names what has not ended.
import { AppError } from '../../domain/errors.ts';

const ANSWER_MS_MAX = 20_000;

/** `notEnded`: names of the work under way. Errors: those of the work; AppError `internal` when nothing is left that could end it. */
export async function untilSettled<T>(
  work: Promise<T>,
  notEnded: () => readonly string[],
  answerMsMax = ANSWER_MS_MAX,
): Promise<T> {
  const { promise: never, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  // Emitted only when nothing keeps the process alive, so not while the timer runs.
  const wait = () => {
    timer = setTimeout(() => reject(new AppError('internal', textOf(notEnded()))), answerMsMax);
  };
  process.on('beforeExit', wait);
  try {
    return await Promise.race([work, never]);
  } finally {
    process.off('beforeExit', wait);
    clearTimeout(timer);
  }
}

function textOf(names: readonly string[]): string {
  const what = names.length === 0 ? 'the command' : names.join(', ');
  return `this is a fault of Trustward itself: it waits for what cannot come any more; not ended: ${what}; what was sent stays recorded, and the next start resolves it`;
}
