// commands: whether `--rules` names other rules than the active set: then a run over them is a what-if. In: the flag, the daemon's
// word, the environment, the database. Out: the active folder, or undefined when the flag names it, or none is active yet.
import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { composeReader } from '../compose/compose.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';
import type { Run } from '../domain/run.ts';
import { type DaemonClient, findDaemon } from './daemon-client.ts';
import type { CommonOptions, Io } from './io.ts';

/** Where the active rules are, and who says so. */
export interface ActiveFolder {
  dir: string;
  saidBy: string;
}

/** The daemon that does what a person asks, if one runs. Errors: AppError `usage` when `--rules` names others than it has: it goes by its own. */
export async function daemonOver(io: Io, config: Config, options: CommonOptions): Promise<DaemonClient | undefined> {
  const daemon = await findDaemon(config);
  const active = daemon && (await otherThanActive(io, config, options, daemon));
  if (!active) return daemon;
  const text = `${active.saidBy} the rules in \`${active.dir}\`, not in \`${options.rules}\`, and would go by its own`;
  throw new AppError('usage', `${text}: leave out --rules, or stop the daemon first`);
}

/**
 * The active folder when `--rules` names another one. Active are the rules of the daemon that runs; without one those that
 * TRUSTWARD_RULES names, else those of the last run. A database without a run has no active rules yet: whatever is given is.
 */
export async function otherThanActive(
  io: Io,
  config: Config,
  { rules }: CommonOptions,
  daemon: DaemonClient | undefined,
): Promise<ActiveFolder | undefined> {
  if (rules === undefined) return undefined;
  const active = daemon
    ? { dir: daemon.rulesDir ?? '', saidBy: 'the daemon has' }
    : await withoutDaemon(config, io.env.TRUSTWARD_RULES?.trim());
  return active === undefined || realPath(active.dir) === realPath(rules) ? undefined : active;
}

async function withoutDaemon(config: Config, named: string | undefined): Promise<ActiveFolder | undefined> {
  const last = await lastRun(config.db);
  if (last === undefined) return undefined;
  if (named) return { dir: named, saidBy: 'TRUSTWARD_RULES names' };
  return last.rulesDir === undefined ? undefined : { dir: last.rulesDir, saidBy: 'the last run was over' };
}

/** Of a database that cannot be read, or is of an older version, none: the run that follows says what is wrong with it. */
async function lastRun(databaseFile: string): Promise<Run | undefined> {
  if (!existsSync(databaseFile)) return undefined;
  try {
    const reader = composeReader(databaseFile);
    try {
      return await reader.latestRun();
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** A folder that is reached by two names is one. */
function realPath(dir: string): string {
  return existsSync(dir) ? realpathSync(dir) : resolve(dir);
}
