// support: the program as a separate process, and its output when it ended.
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { BIN, built, COMPILED, ROOT } from './built.ts';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

export interface Started {
  child: ChildProcess;
  /** Its output so far. */
  said(): { out: string; err: string };
  /** Resolves when standard output contains `text`; rejects with all output when it ends before. */
  says(text: string): Promise<void>;
  ended: Promise<Ended>;
}

export interface StartOptions {
  /** Runs as this user; the tests may run as root, whom no file mode stops. */
  uid?: number;
  /** No file may grow beyond this many bytes: a disk that is full from the start. */
  fileBytesMax?: number;
  /** Another deadline for its end, as `test/runtime/daemon/quick-end.ts` takes it. */
  endWithinMs?: number;
}

export function startTrustward(args: string[], env: Record<string, string>, options: StartOptions = {}): Started {
  const { PATH = '', HOME = '' } = process.env;
  const limit = options.fileBytesMax === undefined ? [] : ['prlimit', `--fsize=${options.fileBytesMax}:`];
  const { endWithinMs } = options;
  const main =
    endWithinMs === undefined
      ? [join(BIN, 'trustward')]
      : [built('test/runtime/daemon/quick-end.ts'), String(endWithinMs)];
  const [program = '', ...rest] = [...limit, process.execPath, ...main, ...args];
  const child = spawn(program, rest, {
    cwd: ROOT,
    env: { PATH: `${BIN}:${PATH}`, HOME, NODE_COMPILE_CACHE: COMPILED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  return follow(child);
}

/** A process whose output is read through pipes. */
export function follow(child: ChildProcessByStdio<null, Readable, Readable>): Started {
  const heard = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    heard.err += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...heard }) as Ended);
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => heard.out.includes(text) && resolve();
      child.stdout.on('data', look);
      void ended.then(({ out, err }) => reject(new Error(`it ended before it said ${text}: ${out}${err}`)));
      look();
    });
  return { child, said: () => ({ ...heard }), says, ended };
}

export function trustward(args: string[], env: Record<string, string>, options?: StartOptions): Promise<Ended> {
  return startTrustward(args, env, options).ended;
}
