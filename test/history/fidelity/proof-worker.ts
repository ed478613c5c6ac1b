// fidelity: proves a share of the months in a process of its own. In: the first seed, the stride, how many, as arguments. Out: the proof, as a message.
import { addProof, noProof, proveMonth } from './proof.ts';

const [from = 0, stride = 1, months = 0] = process.argv.slice(2).map(Number);
const sum = noProof();
for (let seed = from; seed < from + months * stride; seed += stride) addProof(sum, await proveMonth(seed));
process.send?.(sum, () => process.disconnect());
