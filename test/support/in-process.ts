// support: a command in this process, with its output and the exit code of a process.

import { exitCodeOf } from '../../src/domain/errors.ts';
import { faultText, type Io, invocation } from '../../src/faces/cli/io.ts';
import { buildProgram } from '../../src/faces/cli/program.ts';

export interface Answered {
  code: number;
  out: string;
  err: string;
}

/** As in main.ts: an error is a line and an exit code. `terminal`: what a person at one answers. */
export async function command(
  args: string[],
  env: Record<string, string>,
  terminal: Pick<Io, 'ask'> = {},
): Promise<Answered> {
  // What another file's command was given in this worker is none of this one's.
  invocation.settings = [];
  const heard = { out: '', err: '' };
  try {
    return { code: await run(args, env, heard, terminal), ...heard };
  } catch (error) {
    return { code: exitCodeOf(error), ...heard, err: `${heard.err}trustward: ${faultText(error)}\n` };
  }
}

/** The same; errors are thrown. `ask`: as at a terminal, with the answers of a person. */
export async function commandOrThrow(
  args: string[],
  env: Record<string, string>,
  ask?: NonNullable<Io['ask']>,
): Promise<Answered> {
  const heard = { out: '', err: '' };
  return { code: await run(args, env, heard, ask && { ask }), ...heard };
}

function run(
  args: string[],
  env: Record<string, string>,
  heard: { out: string; err: string },
  { ask }: Pick<Io, 'ask'> = {},
): Promise<number> {
  const io: Io = {
    env,
    out: (text) => {
      heard.out += text;
    },
    err: (text) => {
      heard.err += text;
    },
    ...(ask && { ask }),
    untilStopped: () => new Promise(() => {}),
  };
  return buildProgram(io)(args);
}
