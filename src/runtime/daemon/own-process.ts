// A command of ours in a process of its own, of low priority: long work that the daemon neither waits for nor feels. In: its arguments. Out: its
// exit code and what it wrote. No credential is handed on but the password of PostgreSQL: such a command reads what is recorded, and nothing else.
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../domain/errors.ts';
import { type KnownToken, SignedInMemory, SignIn, TokenRegister, tokenHash } from '../../faces/http/sign-in.ts';
import type { Composition } from '../compose/compose.ts';
import { newSecret } from '../system/ids.ts';

const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'LD_LIBRARY_PATH'];
/** Where a command finds the database, what lies beside it, and which organizations there are. */
const OF_POSTGRES = [
  ...['TRUSTWARD_STATE', 'TRUSTWARD_ORGANIZATIONS', 'TRUSTWARD_DB_PASSWORD', 'TRUSTWARD_DB_PASSWORD_FILE'],
  ...['PGPASSWORD', 'PGPASSFILE'],
];
const TEXT_MAX = 1_000_000;

const OWN = 'trustward: ';
const CRASH = /^\w*Error\b.*:|^FATAL ERROR: /;

export interface EndedProcess {
  /** Null: a signal ended it. */
  code: number | null;
  out: string;
  err: string;
}

export function endOf(code: number | null): string {
  return `its process ended with ${code ?? 'a signal'}`;
}

/** What it said last. A process that crashes writes a stack and its version after what went wrong. */
export function faultOf(err: string): string | undefined {
  const lines = err.trim().split('\n').filter(Boolean);
  const fault =
    lines.findLast((line) => line.startsWith(OWN)) ?? lines.find((line) => CRASH.test(line)) ?? lines.at(-1);
  return fault?.replace(OWN, '');
}

export interface BesideOptions {
  outMax?: number;
  isPostgres?: boolean;
  /** Called with all that it has written to standard error so far. */
  said?: (err: string) => void;
}

/**
 * Killed at once when `signal` aborts. `outMax`: characters of its output that are kept.
 */
export async function runBeside(
  args: string[],
  signal: AbortSignal,
  { outMax = TEXT_MAX, isPostgres = false, said }: BesideOptions = {},
): Promise<EndedProcess> {
  // From sources the loader is needed there, too; what is built needs none.
  const extension = extname(import.meta.url);
  const main = fileURLToPath(new URL(`../../main${extension}`, import.meta.url));
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const names = isPostgres ? [...PASSED_ON, ...OF_POSTGRES] : PASSED_ON;
  const env = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const child = spawn(process.execPath, [...loader, main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    if (out.length < outMax) out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err = `${err}${chunk}`.slice(-TEXT_MAX);
    said?.(err);
  });
  if (signal.aborted) kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', (error) =>
        reject(new AppError('store_failed', `its process cannot be started (${error.message})`)),
      );
      child.on('spawn', () => lessUrgent(child.pid));
      child.on('close', (code) => resolve({ code, out, err }));
    });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The daemon goes first. */
function lessUrgent(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already, or this may not be changed here.
  }
}

// The daemon's part of the endpoint's tokens: who may call it, and changes of that.

/** @param token the token of the configuration, of scope `admin`; undefined: it is not one of this organization. */
export async function tokenRegister(
  { tokens, clock, log, onToken }: Composition,
  token: string | undefined,
): Promise<TokenRegister> {
  const register = new TokenRegister({ store: tokens, configured: configured(token), clock, log });
  await register.load();
  onToken((changed) => register.configure(configured(changed)));
  return register;
}

export function configured(token: string | undefined): KnownToken[] {
  return token === undefined ? [] : [{ name: 'admin', scope: 'admin', hash: tokenHash(token) }];
}

/** @param address where the endpoint listens. */
export function signInOf({ config, clock }: Composition, register: TokenRegister, address: () => string): SignIn {
  const verifyHash = (hash: string) => register.verifyHash(hash);
  const store = new SignedInMemory(clock);
  return new SignIn({ store, verifyHash, secret: newSecret, clock, address, publicUrl: config.notify.publicUrl });
}
