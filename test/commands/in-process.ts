// test commands: a command in this process, with what it wrote and the code that the process would end with. As main.ts does.
import type { Io } from '../../src/commands/io.ts';
import { buildProgram } from '../../src/commands/program.ts';
import { exitCodeOf, lineOf } from '../../src/domain/errors.ts';

export interface Answered {
  code: number;
  out: string;
  err: string;
}

export async function command(args: string[], env: Record<string, string>): Promise<Answered> {
  const heard = { out: '', err: '' };
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
  try {
    return { code: await buildProgram(io)(args), ...heard };
  } catch (error) {
    return { code: exitCodeOf(error), ...heard, err: `${heard.err}trustward: ${lineOf(error)}\n` };
  }
}
