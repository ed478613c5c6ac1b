// bench: a daemon in a process of its own, whose event loop is watched. In: its settings, by the environment. Out: `READY <url>` on standard
// output; on each message, the delays of the event loop since the message before, in milliseconds, and the longest turn by the processor time of
// its thread: a busy machine delays a turn, and takes no processor time in it.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';

const RESOLUTION_MS = 1;
const TURN_EVERY_MS = 2;
const NS_PER_MS = 1e6;

let [usedMs, turnMs] = [0, 0];
function endTurn(): void {
  const { user, system } = process.threadCpuUsage();
  turnMs = Math.max(turnMs, (user + system) / 1_000 - usedMs);
  usedMs = (user + system) / 1_000;
}

const composition = await composeEngine(readConfig(process.env));
const daemon = await startDaemon(composition);
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
endTurn();
turnMs = 0;
setInterval(endTurn, TURN_EVERY_MS);
process.on('message', () => {
  const [p999, max] = [delay.percentile(99.9), delay.max].map((ns) => ns / NS_PER_MS - RESOLUTION_MS);
  process.send?.({ p999, max, turnMs });
  delay.reset();
  turnMs = 0;
});
process.on('disconnect', () => process.exit(0));
process.stdout.write(`READY ${daemon.url}\n`);
