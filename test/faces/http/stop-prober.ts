// test: sends `stop`, and then `resume`, at random moments, from a thread of its own, so that the time it measures is the
// daemon's alone. In: the daemon's address and an admin token. Out: on any message, the time of each answer in ms.
import { request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { seeded } from './flood-requests.ts';

const { url, token, seed, pauseMs } = workerData as { url: string; token: string; seed: number; pauseMs: number };
const next = seeded(seed);
const answers: { status: number; ms: number }[] = [];
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

function post(path: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const sending = request(`${url}${path}`, { method: 'POST', headers, agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sending.once('error', reject).end(JSON.stringify({ reason: 'a drill' }));
  });
}

while (!isOver) {
  await systemClock.sleep(next() * 2 * pauseMs);
  const sinceMs = systemClock.monotonicMs();
  const status = await post('/api/stop');
  answers.push({ status, ms: systemClock.monotonicMs() - sinceMs });
  await post('/api/resume');
}
parentPort?.postMessage(answers);
