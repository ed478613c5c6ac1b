// commands: `open`: a link that signs in to the page of the daemon, once and within ten minutes. In: the database. Out: the link alone
// on standard output, and at a terminal with a desktop also the browser at it. Whoever has the link can use it: it goes nowhere else.
import { spawn } from 'node:child_process';
import { readDatabaseAccess } from '../config/access.ts';
import { AppError } from '../domain/errors.ts';
import { findDaemon } from './daemon-client.ts';
import { type CommonOptions, flagsOf, type Io } from './io.ts';

export async function openCommand(io: Io, options: CommonOptions & { print?: boolean }): Promise<number> {
  const access = readDatabaseAccess(io.env, flagsOf(options));
  if (access.database.kind === 'postgres') throw new AppError('usage', NOT_HERE);
  const daemon = await findDaemon(access);
  if (!daemon) throw new AppError('not_found', 'no daemon runs on this database: start `trustward serve`');
  const { url } = JSON.parse(await daemon.call('POST', '/api/sign-in-links', {})) as { url: string };
  io.out(`${url}\n`);
  const browser = browserOf(process.platform, io.env);
  if (browser && !options.print && process.stdout.isTTY) openIn(browser, url);
  return 0;
}

/** Any number of endpoints may be there, on other machines. */
const NOT_HERE =
  'with PostgreSQL there is no link: open the address of `trustward serve`, and sign in with a token of `trustward tokens add`';

/** The program that opens an address, and its first arguments; undefined without a desktop. */
export function browserOf(platform: NodeJS.Platform, env: Io['env']): readonly [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** Without one the printed link is enough: a failure is not reported. */
function openIn([program, ...args]: readonly [string, ...string[]], url: string): void {
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}
