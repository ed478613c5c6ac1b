// test: loaded before the program (`--import`). Once the file HANG_WHEN exists, reading the folder HANG_IN never ends: a
// thread of the process waits in the kernel, as on a network mount that is gone.
import fs, { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { HANG_WHEN, HANG_IN, HANG_FIFO } = process.env;
const { opendir, readFile } = fs.promises;
fs.promises.opendir = (path, ...rest) =>
  existsSync(HANG_WHEN) && String(path).startsWith(HANG_IN) ? readFile(HANG_FIFO) : opendir(path, ...rest);
syncBuiltinESMExports();
