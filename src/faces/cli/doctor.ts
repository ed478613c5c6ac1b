// cli: `doctor`: whether this installation can work, and what to do where it cannot. It only reads: it sends no
// writing request and writes no file. Exit code 0 when nothing is a problem, 1 when something is, 2 for the
// configuration.

import { AppError } from '../../domain/errors.ts';
import { readIfAny } from '../../runtime/compose/reader.ts';
import type { Environment } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { type Now, readNow, stateNow } from '../report/state-now.ts';
import { paragraph, type TerminalOptions } from '../report/terminal-table.ts';
import { configOf } from './config-of.ts';
import { type Check, countOfWords, problem } from './doctor/check.ts';
import { configurationChecks, daemonChecks, rememberingNames, workerChecks } from './doctor/daemon.ts';
import {
  apiChecks,
  backupChecks,
  databaseChecks,
  diskCheck,
  heartbeatChecks,
  historyChecks,
  mailChecks,
  rulesChecks,
  webhookChecks,
} from './doctor/database.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';

export async function doctorCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { checks, code, now } = await look(io, options);
  const written = format === 'json' ? JSON.stringify(viewOf(checks), null, 2) : textOf(checks, now, widthOf(options));
  write(io, options, written);
  return code;
}

interface Looked {
  checks: Check[];
  code: number;
  /** Absent: there is no database, or a check names what is wrong with it. */
  now?: Now | undefined;
}

async function look(io: Io, options: CommonOptions): Promise<Looked> {
  let [env, asked]: [Environment, ReadonlySet<string>] = [io.env, new Set()];
  try {
    const config = await configOf(io, options, (given) => {
      env = given;
      const remembering = rememberingNames(given);
      asked = remembering.asked;
      return remembering.env;
    });
    const { checks, rules } = await rulesChecks(config);
    const all = [
      ...configurationChecks(config, env, asked),
      ...(await apiChecks(config, rules)),
      ...(await databaseChecks(config, rules)),
      ...(await backupChecks(config)),
      ...(await historyChecks(config)),
      ...checks,
      ...(await daemonChecks(config)),
      ...(await workerChecks(config)),
      ...(await webhookChecks(config)),
      ...(await heartbeatChecks(config)),
      ...(await mailChecks(config, rules)),
      diskCheck(config),
    ];
    const now = await readIfAny(config.database, (reader) => readNow(reader, systemClock.nowMs(), rules));
    return { checks: all, code: all.some(({ state }) => state === 'problem') ? 1 : 0, now };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'config') throw error;
    // Without a configuration there is nothing to check: the database and the address are unknown.
    const faults = error.message.split('\n').map((line) => line.replace(/^configuration: /, ''));
    return {
      checks: faults.map((fault) => problem('configuration', fault, 'docs/configuration.md has every setting')),
      code: 2,
    };
  }
}

function viewOf(checks: readonly Check[]) {
  const count = (state: Check['state']) => checks.filter((check) => check.state === state).length;
  const shown = checks.map(({ name, state, text, advice }) => ({ name, state, text, advice: advice ?? null }));
  return { ok: count('problem') === 0, problems: count('problem'), warnings: count('warning'), checks: shown };
}

/** The last line is the verdict: it counts what is wrong here, and the work that waits or went wrong. */
function textOf(checks: readonly Check[], now: Now | undefined, { width, named }: Required<TerminalOptions>): string {
  const { problems, warnings } = viewOf(checks);
  const column = Math.max(...checks.map(({ name }) => name.length)) + 2;
  const indent = 'warning'.length + 2 + column;
  const hanging = (text: string) =>
    paragraph(text, { width: width - indent, named }).replaceAll('\n', `\n${' '.repeat(indent)}`);
  const lines = checks.flatMap(({ name, state, text, advice }) => [
    `${state.padEnd('warning'.length + 2)}${name.padEnd(column)}${hanging(text)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(indent)}${hanging(`→ ${advice}`)}`]),
  ]);
  const found = [
    ...(problems > 0 ? [countOfWords(problems, 'problem')] : []),
    ...(warnings > 0 ? [countOfWords(warnings, 'warning')] : []),
  ];
  return [...lines, '', paragraph(stateNow(now, { found }).sentence, { width, named })].join('\n');
}
