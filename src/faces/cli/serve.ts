// cli: `serve`: the daemon: schedule, HTTP endpoint, rules reloaded when they change. It ends on SIGTERM or
// SIGINT: nothing new begins, and work under way is finished; `system/process.ts` has the one deadline for all of it.
import { existsSync } from 'node:fs';
import { formatDuration } from '../../base/time.ts';
import { onPage } from '../../domain/actor.ts';
import { databaseName } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { type Composition, composeEngine } from '../../runtime/compose/compose.ts';
import type { Config } from '../../runtime/config/config.ts';
import { isPostgres, readDatabasePath } from '../../runtime/config/name-reader.ts';
import { type Daemon, startDaemon } from '../../runtime/daemon/daemon.ts';
import { keepHeapLean } from '../../runtime/system/process.ts';
import { demandFree } from '../http/listen.ts';
import { changeWindowText, quietHoursText } from '../report/plan-view.ts';
import { configOf } from './config-of.ts';
import { userHere } from './daemon-client.ts';
import { type CommonOptions, type Io, invocation, writeText } from './io.ts';

export async function serveCommand(io: Io, options: CommonOptions): Promise<number> {
  keepHeapLean();
  if (isPostgres(readDatabasePath(io.env, options)))
    return (await import('./serve-endpoint.ts')).serveEndpointCommand(io, options);
  const config = await configOf(io, options);
  // A first start that cannot listen leaves nothing behind; later ones first report which process holds the database.
  if (config.database.kind === 'sqlite' && !existsSync(config.database.file)) await demandFree(config.listen);
  if (!config.api) {
    const { giveDemoAPast } = await import('../../runtime/compose/demo-past.ts');
    const begins = () => io.err('making the last 30 days of the demo: this takes some seconds, once\n');
    await giveDemoAPast(config, io.ending, begins).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'store_locked') throw error;
      io.err(`the demo begins without a past, which could not be made: ${lineOf(error)}\n`);
    });
    if (io.ending?.asked.aborted) return 0;
  }
  const composition = await composeEngine(config, config.mode, [], io.ending);
  try {
    const daemon = await startDaemon(composition);
    const link = process.stdout.isTTY ? await daemon.signInLink(onPage(userHere())) : undefined;
    writeText(io, welcome(composition, daemon, link));
    await io.untilStopped();
    await daemon.stop();
  } finally {
    await composition.close();
  }
  return 0;
}

/** None where none is configured. */
function windowLines({ windows: { freeze, quietHours } }: Config, nowMs: number): string[] {
  const text = changeWindowText(freeze, nowMs);
  return [
    ...(text === undefined ? [] : [`  Change windows  ${text}`]),
    ...(quietHours.length === 0 ? [] : [`  Quiet hours     ${quietHoursText(quietHours, nowMs)}`]),
  ];
}

/** The first one only where there are links. */
const NEXT = [
  ['trustward open', 'a link that signs in to the page'],
  ['trustward report', 'what the last run found, did and why'],
  ['trustward run --mode dry-run', 'one more run that changes nothing'],
  ['trustward summary', 'what happened, and who did it'],
  ['trustward decisions', 'what was decided, newest first'],
  ['trustward why SERIAL', 'all about one device, by any of its names'],
  ['trustward audit verify', 'that the record is whole'],
] as const;

/** What stands before a command leaves no place beside it. */
function nextLine([command, what]: (typeof NEXT)[number]): string {
  return invocation.settings.length === 0 ? `  ${command.padEnd(30)}  ${what}` : `  ${what}:\n    ${command}`;
}

/** @param link INVARIANT: for a terminal alone: a pipe may lead into a log. */
function welcome(
  { config, engine, embedded, rules }: Composition,
  { url, tokenPlace, nextRun }: Daemon,
  link: string | undefined,
): string {
  const demo = embedded !== undefined;
  const token = tokenPlace.startsWith('TRUSTWARD') ? '$TRUSTWARD_TOKEN' : `$(cat ${tokenPlace})`;
  const lines = [
    '',
    `Trustward${demo ? ' DEMO' : ''} is running.`,
    '',
    ...(link === undefined ? [] : [`  Page            ${link} (works once, for ten minutes)`]),
    `  HTTP endpoint   ${url}`,
    `  Token           ${tokenPlace}`,
    `  Mode            ${engine.daemonMode}${engine.daemonMode === 'dry-run' ? ' (nothing is changed)' : ''}`,
    `  Schedule        ${config.schedule} (${nextRun()})`,
    `  Watch           ${config.watchMs === 0 ? 'off' : `the event log, every ${formatDuration(config.watchMs)}`}`,
    ...windowLines(config, engine.clock.nowMs()),
    `  Rules           ${rules.all().length} in ${config.rulesDir}`,
    `  Database        ${databaseName(config.database)}`,
    `  Management API  ${demo ? `${embedded} (embedded, a made-up organization)` : config.api?.url}`,
    '',
    'What to do next, in another terminal:',
    '',
    ...NEXT.slice(config.hasLinks ? 0 : 1).map(nextLine),
    `  curl -H "Authorization: Bearer ${token}" '${url}/api/runs/latest/report?format=md'`,
    '',
    ...(demo ? ['For a real organization, set TRUSTWARD_API_URL and TRUSTWARD_API_KEY: see README.', ''] : []),
    'Ctrl-C ends it.',
    '',
  ];
  return lines.join('\n');
}
