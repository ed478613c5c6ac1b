#!/usr/bin/env node
// The process: arguments, signals, exit codes. A failure is one line (or a few) on standard error, never a stack trace
// for a user's mistake or a fault of the API.
import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import type { Io } from './faces/cli/io.ts';

const NODE_MIN = 22;

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// INVARIANT: before anything else is loaded. The SQLite library crashes an older Node when it is loaded.
if (Number.parseInt(process.versions.node, 10) < NODE_MIN) {
  // In a clone npm has installed a newer one.
  const newer = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (isExecutable(newer)) {
    const { spawnSync } = await import('node:child_process');
    process.exit(spawnSync(newer, process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
  }
  process.stderr.write(`trustward: Node ${NODE_MIN} or newer is needed; this is Node ${process.versions.node}\n`);
  process.exit(2);
}

// What is read of a fleet lives as long as its page. A nursery that grows takes up to 100 MB, and no time off; those of threads begin with what they need.
for (const flag of ['--semi-space-growth-factor=1', '--min-semi-space-size=4']) setFlagsFromString(flag);

const { AppError, exitCodeOf } = await import('./domain/errors.ts');
const { faultText } = await import('./faces/cli/io.ts');
const { buildProgram } = await import('./faces/cli/program.ts');
const { endOnSignals } = await import('./runtime/system/process.ts');
const { asInvoked, invocation, invokedAs } = await import('./faces/cli/io.ts');
const { statusLine } = await import('./runtime/system/process.ts');
const { untilSettled } = await import('./runtime/system/until-settled.ts');

const program = process.argv[1] ?? '';
invocation.command = invokedAs({ program, env: process.env, isExecutable: isExecutable(program) });
const ending = endOnSignals();

const io: Io = {
  env: process.env,
  out: (text) => {
    statusLine.clear();
    process.stdout.write(text);
  },
  err: (text) => {
    statusLine.clear();
    process.stderr.write(asInvoked(text));
  },
  ...(process.stdin.isTTY && process.stdout.isTTY && { ask }),
  untilStopped: () => ending.untilAsked(),
  ending,
};

/**
 * The line that a person typed; empty at the end of the input or on Ctrl-C. The question goes to standard error: standard output has only the
 * result. A script is never asked: either end of it is no terminal.
 */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    lines.on('SIGINT', () => lines.close());
    lines.on('close', () => resolve(''));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

// A reader that closes its end (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

function report(error: unknown): void {
  if (error instanceof AppError) io.err(`${faultText(error, 'trustward: ')}\n`);
  else
    io.err(
      `trustward: this is a fault of Trustward itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
  process.exitCode = exitCodeOf(error);
}

process.on('unhandledRejection', (error) => {
  report(error);
  process.exit(1);
});

try {
  process.exitCode = await untilSettled(buildProgram(io)(process.argv.slice(2)), () => ending.notEnded());
} catch (error) {
  report(error);
} finally {
  statusLine.clear();
}
