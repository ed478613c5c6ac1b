// test: preloaded into a run (`--import`): both clocks are ahead by LATER_MS, as if the process had begun so much later.
import { systemClock } from '../../src/runtime/system/clock.ts';

const laterMs = Number(process.env.LATER_MS);
const { nowMs, monotonicMs } = systemClock;
Object.assign(systemClock, { nowMs: () => nowMs() + laterMs, monotonicMs: () => monotonicMs() + laterMs });
