// cli: the grammar of `audit …`: names, options and their help.
import type { Command } from 'commander';
import { AUDIT } from '../../../contract/records.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { commandOf, databaseOption, outputOptions } from './options.ts';

export function addAudit(program: Command, io: Io, bind: Bind): void {
  const audit = program
    .command('audit')
    .description('the hash-chained record')
    .addHelpText(
      ...examples(
        '# what happened last',
        'trustward audit list --limit 20',
        '# whether the record is whole',
        'trustward audit verify',
      ),
    );
  const add = (name: string, text: string) => databaseOption(audit.command(name).description(text));
  commandOf(audit, AUDIT.listAudit, (command) => outputOptions(databaseOption(command), 'text, json')).action(
    bind(async (options: never) => (await import('../audit-list.ts')).auditListCommand(io, options)),
  );
  outputOptions(add('verify', 'check that the record is whole; names the first bad entry or checkpoint'), 'text, json')
    .option('--file <export>', 'verify this export instead, on any machine')
    .option('--public-key <file>', 'a copy of the public key')
    .addHelpText(
      ...examples(
        '# the record of this database',
        'trustward audit verify',
        '# an export, on another machine',
        'trustward audit verify --file audit.ndjson --public-key trustward.pub',
      ),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).auditVerifyCommand(io, options)));
  add('export', 'entries and checkpoints as NDJSON, for verifying elsewhere')
    .option('--from <seq>', 'from this entry on (default: the first)')
    .option('--follow', 'go on as entries are added, until the process is asked to end')
    .option('--after <seq>', 'with --follow: go on after this entry, which you have already')
    .option('--out <file>', 'write there instead of to standard output')
    .addHelpText(
      ...examples(
        '# everything',
        'trustward audit export --out audit.ndjson',
        '# each entry as it is committed, after the last one that you have',
        'trustward audit export --follow --after 4711',
      ),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).auditExportCommand(io, options)));
  const why = '--reason <text>';
  add('archive', 'move the oldest entries to a verified file beside the database')
    .requiredOption('--before <seq|date>', 'entries before this one, or before this date (UTC)')
    .requiredOption(why, 'why, for the audit')
    .addHelpText(
      ...examples(
        '# entries of earlier years',
        'trustward audit archive --before 2026-01-01 --reason "yearly archive"',
      ),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).auditArchiveCommand(io, options)));
  add('accept-tables', 'continue with tables that somebody changed beside the engine')
    .requiredOption(why, 'why, for the audit')
    .addHelpText(
      ...examples(
        '# after `trustward audit verify` has named what was changed',
        'trustward audit accept-tables --reason "a row was corrected by hand, ticket 4711"',
      ),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).acceptTablesCommand(io, options)));
  add('accept-restore', 'continue with a database that is older than its checkpoints outside')
    .requiredOption(why, 'why, for the audit')
    .addHelpText(
      ...examples('# after a backup was put in place', 'trustward audit accept-restore --reason "disk replaced"'),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).acceptRestoreCommand(io, options)));
  add('new-key', 'sign checkpoints with a new key from now on')
    .requiredOption(why, 'why, for the audit')
    .addHelpText(
      ...examples(
        '# after the key was lost, or may be known to others',
        'trustward audit new-key --reason "key rotation"',
      ),
    )
    .action(bind(async (options: never) => (await import('../audit.ts')).newKeyCommand(io, options)));
}
