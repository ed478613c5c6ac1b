// bench: loaded before a measured process: when it ends, the most memory that it has had (`VmHWM` of the kernel, in kB) goes to its fourth file.
import { readFileSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const atEnd = () => {
  const [, kB = ''] = /^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  writeSync(3, kB);
};
// Its threads load it, too.
if (isMainThread) process.on('exit', atEnd);
