// history/record: the whole of the thread that records. In: messages, one after another. Out: an answer to each. It holds what was recorded last,
// writes the segments, and ends with its process.
import { parentPort, workerData } from 'node:worker_threads';
import { lineOf } from '../../domain/errors.ts';
import { DirectDesk } from './direct-desk.ts';
import type { FolderSettings } from './folder-recording.ts';
import type { DeskAnswer, DeskCall } from './thread-desk.ts';

const port = parentPort;
const desk = new DirectDesk(workerData as FolderSettings);
let last: Promise<void> = Promise.resolve();

async function take({ number, method, args }: DeskCall): Promise<void> {
  let answer: DeskAnswer;
  try {
    const call = desk[method] as (...given: unknown[]) => Promise<unknown>;
    answer = { number, value: await call.apply(desk, args) };
  } catch (error) {
    answer = { number, fault: lineOf(error) };
  }
  port?.postMessage(answer);
}

port?.on('message', (call: DeskCall) => {
  last = last.then(() => take(call));
});
