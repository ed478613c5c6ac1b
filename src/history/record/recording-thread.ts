// history/record: the whole of the thread that records. In: messages, one after another for each desk. Out: an answer to each call. It holds what
// each desk recorded last, writes the segments, and ends with its process.
import { parentPort, workerData } from 'node:worker_threads';
import { lineOf } from '../../domain/errors.ts';
import { countStepsIn } from '../files/steps.ts';
import { type DeskAnswer, type DeskCall, type DeskEnd, DirectDesk, type ThreadData } from './desk-thread.ts';

const port = parentPort;
countStepsIn(workerData as ThreadData);

/** What is waited for before the next call of the same desk: one whose disk does not answer holds up no other. */
interface Desk {
  recording: DirectDesk;
  last: Promise<void>;
}
const desks = new Map<number, Desk>();

async function take(recording: DirectDesk, { number, method, args }: DeskCall): Promise<void> {
  let answer: DeskAnswer;
  try {
    const call = recording[method] as (...given: unknown[]) => Promise<unknown>;
    answer = { number, value: await call.apply(recording, args) };
  } catch (error) {
    answer = { number, fault: lineOf(error) };
  }
  // Fingerprints of a million records are handed over: nothing here has them.
  port?.postMessage(answer, answer.value instanceof Int32Array ? [answer.value.buffer as ArrayBuffer] : []);
}

port?.on('message', (message: DeskCall | DeskEnd) => {
  if ('ended' in message) {
    const ended = desks.get(message.ended);
    desks.delete(message.ended);
    ended?.last.then(() => ended.recording.close());
    return;
  }
  const desk = desks.get(message.desk) ?? { recording: new DirectDesk(message.settings), last: Promise.resolve() };
  desks.set(message.desk, desk);
  desk.last = desk.last.then(() => take(desk.recording, message));
});
