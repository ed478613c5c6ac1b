// bench: loaded first: what the daemon does with its heap (`src/main.ts`, `serve`), so that the memory is that of the product.
import { setFlagsFromString } from 'node:v8';
import { keepHeapLean } from '../../src/runtime/system/process.ts';

for (const flag of ['--semi-space-growth-factor=1', '--min-semi-space-size=4']) setFlagsFromString(flag);

keepHeapLean();
