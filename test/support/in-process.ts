// support: a command in this process, with what it wrote and the code that the process would end with.
import type { Io } from '../../src/commands/io.ts';
import { buildProgram } from '../../src/commands/program.ts';
import { exitCodeOf, lineOf } from '../../src/domain/errors.ts';

export interface Answered {
  code: number;
  out: string;
  err: string;
}

/** As main.ts does: what went wrong is a line and an exit code. */
export async function command(args: string[], env: Record<string, string>): Promise<Answered> {
  const heard = { out: '', err: '' };
  try {
    return { code: await run(args, env, heard), ...heard };
  } catch (error) {
    return { code: exitCodeOf(error), ...heard, err: `${heard.err}trustward: ${lineOf(error)}\n` };
  }
}

/** The same; what went wrong is thrown. */
export async function commandOrThrow(args: string[], env: Record<string, string>): Promise<Answered> {
  const heard = { out: '', err: '' };
  return { code: await run(args, env, heard), ...heard };
}

function run(args: string[], env: Record<string, string>, heard: { out: string; err: string }): Promise<number> {
  const io: Io = {
    env,
    out: (text) => {
      heard.out += text;
    },
    err: (text) => {
      heard.err += text;
    },
    untilStopped: () => new Promise(() => {}),
  };
  return buildProgram(io)(args);
}
