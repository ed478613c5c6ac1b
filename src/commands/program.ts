// commands: the command line's grammar: names, options and their help, each bound to one command file.
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { AppError } from '../domain/errors.ts';
import { MODES } from '../domain/mode.ts';
import {
  acceptRestoreCommand,
  acceptTablesCommand,
  auditArchiveCommand,
  auditExportCommand,
  auditListCommand,
  auditVerifyCommand,
  newKeyCommand,
} from './audit.ts';
import { consoleCommand, EDITIONS } from './console.ts';
import { explainCommand } from './explain.ts';
import { type Io, withoutUnseen } from './io.ts';
import { addOperating } from './operating-grammar.ts';
import { addOperatorCommands } from './operator-grammar.ts';
import { plansCommand } from './plan-list.ts';
import { applyCommand, approveCommand, planCommand, rejectCommand } from './plans.ts';
import { decisionsCommand, reportCommand } from './reading.ts';
import { rulesCheckCommand, rulesListCommand, rulesSchemaCommand, rulesTestCommand } from './rules.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';

type Action = (...args: never[]) => Promise<number>;

/** Returns a function from arguments to an exit code. Errors: AppError `usage` for what the grammar refuses. */
export function buildProgram(io: Io): (args: string[]) => Promise<number> {
  return async (args) => {
    let code = 0;
    const bind =
      (action: Action) =>
      async (...values: unknown[]) => {
        code = await (action as (...all: unknown[]) => Promise<number>)(...values);
      };
    const program = grammar(withoutUnseen(io), bind);
    try {
      await program.parseAsync(args, { from: 'user' });
      return code;
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode === 0) return 0; // help and version
      if (error.code === 'commander.help') return 2; // no command given: help was shown, on standard error
      const mistake = error.message.replace(/^error: |\.$/g, '').replace(/\s*\n\s*/g, ' ');
      throw new AppError('usage', `${mistake}; \`trustward --help\` lists the commands`);
    }
  };
}

const AFTERWORD = `
Exit codes:
  0  done; a dry run that could be done, whatever it found
  1  failed
  2  wrong usage, configuration or rules
  3  done in mode approve or enforce, but something waits for a person or a source was untrusted

Start with a run that changes nothing: \`trustward run --mode dry-run\`. Without TRUSTWARD_API_URL an
embedded, made-up organization is used. \`trustward COMMAND --help\` lists a command's options;
README.md lists every setting.`;

/** The caller reports mistakes in one line; only unrequested help goes to standard error here. */
function outputTo(io: Io) {
  const width = () => process.stdout.columns ?? 100;
  return {
    writeOut: io.out,
    writeErr: io.err,
    outputError: () => undefined,
    getOutHelpWidth: width,
    getErrHelpWidth: width,
  };
}

type Bind = (action: Action) => (...values: unknown[]) => Promise<void>;

function grammar(io: Io, bind: Bind): Command {
  const program = new Command('trustward')
    .description('Reads trust data of devices, users and services, judges it by rules, and acts.')
    .version(versionOf())
    .exitOverride()
    .configureOutput(outputTo(io))
    .showHelpAfterError(false)
    .showSuggestionAfterError(true);
  addActing(program, io, bind);
  addReading(program, io, bind);
  const shared = { engine: engineOptions, database: databaseOption, output: outputOptions };
  addOperatorCommands(program, io, bind, shared);
  addOperating(program, io, bind, shared);
  addAudit(program, io, bind);
  addRules(program, io, bind);
  addConsole(program, io, bind);
  for (const group of program.commands.filter(({ commands }) => commands.length > 0))
    group.description(`${group.description()}: ${group.commands.map((child) => child.name()).join(', ')}`);
  program.addHelpText('after', AFTERWORD);
  for (const command of allCommands(program)) command.exitOverride().configureOutput(outputTo(io));
  return program;
}

function addActing(program: Command, io: Io, bind: Bind): void {
  engineOptions(program.command('serve').description('run the daemon: schedule and HTTP endpoint'))
    .addOption(new Option('--listen <host:port>', 'address of the HTTP endpoint (TRUSTWARD_LISTEN)'))
    .addOption(new Option('--schedule <cron>', 'when runs happen (TRUSTWARD_SCHEDULE)'))
    .addOption(modeOption('the most that any rule may do (TRUSTWARD_MODE)'))
    .action(bind((options: never) => serveCommand(io, options)));
  outputOptions(engineOptions(program.command('run').description('do one run and print its report')), 'text, json, md')
    .addOption(modeOption('how far this run may go'))
    .option('--rule <id...>', 'only these rules')
    .action(bind((options: never) => runCommand(io, options)));
  outputOptions(
    engineOptions(program.command('plan').description('do a dry run that seals what a live run would do')),
    'text, json, md',
  )
    .option('--rule <id...>', 'only these rules')
    .action(bind((options: never) => planCommand(io, options)));
  const answering = (name: string) =>
    outputOptions(
      engineOptions(
        program.command(`${name} <plan>`).description(`${name} a plan, by its id or the beginning of the id`),
      ),
      'text, json',
    ).option('--reason <text>', 'why, for the audit');
  answering('approve')
    .option('--rule <id...>', 'only actions whose every rule is named')
    .option('--only <target...>', 'only these targets or subjects')
    .option('--except <target...>', 'not these targets or subjects')
    .option('--yes', 'do not ask at a terminal')
    .action(bind((plan: never, options: never) => approveCommand(io, plan, options)));
  answering('reject').action(bind((plan: never, options: never) => rejectCommand(io, plan, options)));
  outputOptions(
    engineOptions(program.command('apply <plan>').description('apply an approved plan: exactly it, or a part of it')),
    'text, json',
  ).action(bind((plan: never, options: never) => applyCommand(io, plan, options)));
}

function addReading(program: Command, io: Io, bind: Bind): void {
  outputOptions(
    databaseOption(
      program
        .command('report [run]')
        .description('show the report of a run, by number, id or the beginning of the id; the latest by default'),
    ),
    'text, json, md',
  ).action(bind((run: never, options: never) => reportCommand(io, run, options)));
  outputOptions(
    databaseOption(program.command('plans [plan]').description('list plans, those that wait first; or show one')),
    'text, json',
  )
    .option('--status <status>', 'only plans of this status, such as pending')
    .option('--limit <n>', 'at most this many', '20')
    .action(bind((plan: never, options: never) => plansCommand(io, plan, options)));
  outputOptions(databaseOption(program.command('decisions').description('list decisions, newest first')), 'text, json')
    .option('--rule <id>', 'only this rule')
    .option('--subject <id>', 'only this device (DeviceID), user (e-mail) or service (ServiceID)')
    .option('--target <target>', 'only this serial number or service')
    .option('--limit <n>', 'at most this many', '50')
    .action(bind((options: never) => decisionsCommand(io, options)));
}

function addAudit(program: Command, io: Io, bind: Bind): void {
  const audit = program.command('audit').description('the hash-chained record');
  const add = (name: string, text: string) => databaseOption(audit.command(name).description(text));
  outputOptions(add('list', 'entries, newest first'), 'text, json')
    .option('--kind <kind>', 'only this kind, such as intent.sent')
    .option('--limit <n>', 'at most this many', '50')
    .action(bind((options: never) => auditListCommand(io, options)));
  outputOptions(add('verify', 'check that the record is whole; names the first bad entry or checkpoint'), 'text, json')
    .option('--file <export>', 'verify this export instead, on any machine')
    .option('--public-key <file>', 'a copy of the public key')
    .action(bind((options: never) => auditVerifyCommand(io, options)));
  add('export', 'entries and checkpoints as NDJSON, for verifying elsewhere')
    .option('--from <seq>', 'from this entry on', '1')
    .option('--out <file>', 'write there instead of to standard output')
    .action(bind((options: never) => auditExportCommand(io, options)));
  const why = '--reason <text>';
  add('archive', 'move the oldest entries to a verified file beside the database')
    .requiredOption('--before <seq|date>', 'entries before this one, or before this date (UTC)')
    .requiredOption(why, 'why, for the audit')
    .action(bind((options: never) => auditArchiveCommand(io, options)));
  add('accept-tables', 'continue with tables that somebody changed beside the engine')
    .requiredOption(why, 'why, for the audit')
    .action(bind((options: never) => acceptTablesCommand(io, options)));
  add('accept-restore', 'continue with a database that is older than its checkpoints outside')
    .requiredOption(why, 'why, for the audit')
    .action(bind((options: never) => acceptRestoreCommand(io, options)));
  add('new-key', 'sign checkpoints with a new key from now on')
    .requiredOption(why, 'why, for the audit')
    .action(bind((options: never) => newKeyCommand(io, options)));
}

function addRules(program: Command, io: Io, bind: Bind): void {
  const rules = program.command('rules').description('rule files');
  const add = (name: string, text: string, formats: string) =>
    outputOptions(rules.command(name).description(text), formats).addOption(rulesOption());
  outputOptions(
    engineOptions(
      program.command('explain <rule> <subject>').description('show why a rule matches one subject or not'),
    ),
    'text, json',
  ).action(bind((rule: never, subject: never, options: never) => explainCommand(io, rule, subject, options)));
  add('check', 'check that all rules load; file, line and column of each problem', 'text, json').action(
    bind((options: never) => rulesCheckCommand(io, options)),
  );
  add('test', 'run the tests inside the rules, with coverage of conditions', 'text, json, junit')
    .option('--mutate', 'also list changes of a rule that no test notices')
    .action(bind((options: never) => rulesTestCommand(io, options)));
  add('schema', 'JSON Schema of a rule file, for editors', 'json').action(
    bind((options: never) => rulesSchemaCommand(io, options)),
  );
  add('list', 'the rules of the folder', 'text, json').action(bind((options: never) => rulesListCommand(io, options)));
}

function addConsole(program: Command, io: Io, bind: Bind): void {
  program
    .command('console')
    .description('run the reference server of the Management API')
    .option('--listen <host:port>', 'where it listens', '127.0.0.1:8081')
    .option('--allowed-hosts <names>', 'other host names of the server, separated by commas')
    .option('--db <file>', 'its database', 'data/console.db')
    .option('--seed <n>', 'make an organization; the same number gives the same one')
    .option('--devices <n>', 'how many devices')
    .option('--users <n>', 'how many users')
    .option('--services <n>', 'how many services')
    .option('--events <n>', 'how many past events')
    .option('--compromised <n>', 'how many compromised devices')
    .option('--live', 'let the organization change over time')
    .option('--token-lifetime <duration>', 'how long access tokens are valid', '10m')
    .option('--api-key <name:scope...>', 'an API key of this scope, printed once; may be repeated')
    .addOption(
      new Option('--edition <edition>', 'basic has no events and no services').choices(EDITIONS).default('full'),
    )
    .option('--strict-pages', 'pages have no logins, as specified')
    .option('--faults', 'allow faults to be set at /faults')
    .action(bind((options: never) => consoleCommand(io, options)));
}

function engineOptions(command: Command): Command {
  return databaseOption(command)
    .option('--api-url <url>', 'base address of the Management API (TRUSTWARD_API_URL)')
    .addOption(rulesOption());
}

function databaseOption(command: Command): Command {
  return command.option('--db <file>', 'the database (TRUSTWARD_DB)');
}

function rulesOption(): Option {
  return new Option('--rules <folder>', 'the rules folder (TRUSTWARD_RULES)');
}

function modeOption(text: string): Option {
  return new Option('--mode <mode>', text).choices(MODES.filter((mode) => mode !== 'off'));
}

function outputOptions(command: Command, formats: string): Command {
  return command
    .option('--format <format>', formats)
    .option('--out <file>', 'write there instead of to standard output');
}

function allCommands(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...allCommands(child)]);
}

function versionOf(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
