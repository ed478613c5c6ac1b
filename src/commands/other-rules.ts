// commands: whether `--rules` names other rules than the active set: then a run over them is a what-if. In: the flag,
// the daemon, the environment, the database. Out: the active folder, or undefined when the flag names it, or none is
// active yet.
import { readIfAny } from '../compose/reader.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';
import { realFolders } from '../rule-set/rule-folders.ts';
import { withSettings } from './config-of.ts';
import { type DaemonClient, findDaemon } from './daemon-client.ts';
import type { CommonOptions, Io } from './io.ts';

/** The folder of the active rules, and where that comes from. */
export interface ActiveFolder {
  dir: string;
  origin: string;
}

/**
 * The active daemon, for an operator command. Errors: AppError `usage` when `--rules` names other rules than the
 * daemon's: it would use its own.
 */
export async function daemonOver(io: Io, config: Config, options: CommonOptions): Promise<DaemonClient | undefined> {
  const daemon = await findDaemon(config);
  const active = daemon && (await otherThanActive(io, config, options, daemon));
  if (!active) return daemon;
  const text = `${active.origin} the rules in \`${active.dir}\`, not in \`${options.rules}\`, and would use its own`;
  throw new AppError('usage', `${text}: leave out --rules, or stop the daemon first`);
}

/**
 * The active folder when `--rules` names another one. The active rules are those of the running daemon; without one,
 * those that TRUSTWARD_RULES names, otherwise those of the last run. A database without a run has no active rules yet:
 * any given folder becomes active.
 */
export async function otherThanActive(
  io: Io,
  config: Config,
  options: CommonOptions,
  daemon: DaemonClient | undefined,
): Promise<ActiveFolder | undefined> {
  const { rules } = options;
  if (rules === undefined) return undefined;
  const active = daemon
    ? { dir: daemon.rulesDir ?? '', origin: 'the daemon has' }
    : await withoutDaemon(config, (await withSettings(io, options)).env.TRUSTWARD_RULES?.trim());
  return active === undefined || realFolders(active.dir) === realFolders(rules) ? undefined : active;
}

async function withoutDaemon(config: Config, named: string | undefined): Promise<ActiveFolder | undefined> {
  // Of one that has an older version, the run that follows reports what is wrong with it.
  const last = await readIfAny(config.database, (reader) => reader.latestRun());
  if (last === undefined) return undefined;
  if (named) return { dir: named, origin: 'TRUSTWARD_RULES names' };
  return last.rulesDir === undefined ? undefined : { dir: last.rulesDir, origin: 'the last run used' };
}
