// commands: the grammar of `audit …`: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { databaseOption, outputOptions, sinceOption } from './options.ts';

export function addAudit(program: Command, io: Io, bind: Bind): void {
  const audit = program.command('audit').description('the hash-chained record');
  const add = (name: string, text: string) => databaseOption(audit.command(name).description(text));
  outputOptions(add('list', 'entries, newest first'), 'text, json')
    .option('--kind <kind>', 'only this kind, such as intent.sent')
    .option('--target <target>', 'only entries about this serial number or service')
    .option('--actor <name>', 'only what this person or token did, whatever the way')
    .addOption(sinceOption())
    .option('--limit <n>', 'at most this many', '50')
    .action(bind(async (options: never) => (await import('../reading.ts')).auditListCommand(io, options)));
  outputOptions(add('verify', 'check that the record is whole; names the first bad entry or checkpoint'), 'text, json')
    .option('--file <export>', 'verify this export instead, on any machine')
    .option('--public-key <file>', 'a copy of the public key')
    .action(bind(async (options: never) => (await import('../audit.ts')).auditVerifyCommand(io, options)));
  add('export', 'entries and checkpoints as NDJSON, for verifying elsewhere')
    .option('--from <seq>', 'from this entry on', '1')
    .option('--out <file>', 'write there instead of to standard output')
    .action(bind(async (options: never) => (await import('../audit.ts')).auditExportCommand(io, options)));
  const why = '--reason <text>';
  add('archive', 'move the oldest entries to a verified file beside the database')
    .requiredOption('--before <seq|date>', 'entries before this one, or before this date (UTC)')
    .requiredOption(why, 'why, for the audit')
    .action(bind(async (options: never) => (await import('../audit.ts')).auditArchiveCommand(io, options)));
  add('accept-tables', 'continue with tables that somebody changed beside the engine')
    .requiredOption(why, 'why, for the audit')
    .action(bind(async (options: never) => (await import('../audit.ts')).acceptTablesCommand(io, options)));
  add('accept-restore', 'continue with a database that is older than its checkpoints outside')
    .requiredOption(why, 'why, for the audit')
    .action(bind(async (options: never) => (await import('../audit.ts')).acceptRestoreCommand(io, options)));
  add('new-key', 'sign checkpoints with a new key from now on')
    .requiredOption(why, 'why, for the audit')
    .action(bind(async (options: never) => (await import('../audit.ts')).newKeyCommand(io, options)));
}
