// harness: one process of a long campaign: `campaign-worker.ts FIRST_SEED STRIDE CRASH_POINTS` plays every STRIDE-th
// seed and sends its figures to its parent: the sum so far now and then, and at the end.
import { addResult, noFigures } from './campaign.ts';
import { simulate } from './simulation.ts';

const [from = 1, stride = 1, crashPointsMin = 0] = process.argv.slice(2).map(Number);
const figures = noFigures();
for (let seed = from; figures.crashPoints < crashPointsMin; seed += stride) addResult(figures, await simulate(seed));
process.send?.(figures, () => process.disconnect());
