// test: the program with another deadline for its end, as a process. In: the deadline in ms, then the program's arguments.
import { buildProgram } from '../../../src/faces/cli/program.ts';
import { endOnSignals } from '../../../src/runtime/system/process.ts';

const [withinMs, ...args] = process.argv.slice(2);
const ending = endOnSignals(Number(withinMs));
process.exitCode = await buildProgram({
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  untilStopped: () => ending.untilAsked(),
  ending,
})(args);
