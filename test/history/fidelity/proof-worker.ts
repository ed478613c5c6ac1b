// fidelity: proves a share of the months in a process of its own. In: the first seed, the stride, how many, as arguments. Out: the proof of each
// month, as messages; the channel is closed after the last one.
import { proveMonth } from './proof.ts';

const [from = 0, stride = 1, months = 0] = process.argv.slice(2).map(Number);
for (let seed = from; seed < from + months * stride; seed += stride) process.send?.(await proveMonth(seed));
process.disconnect?.();
