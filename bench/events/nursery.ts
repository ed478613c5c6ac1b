// bench: loaded first, as the first thing that `src/main.ts` does: a nursery that does not grow, so that the memory is that of the product.
import { setFlagsFromString } from 'node:v8';

for (const flag of ['--semi-space-growth-factor=1', '--min-semi-space-size=4']) setFlagsFromString(flag);
