// cli: the grammar of the commands for operating an installation: names, options and their help.
import type { Command } from 'commander';
import { TOKENS } from '../../../contract/operator.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { commandOf, databaseOption, engineOptions, outputOptions } from './options.ts';

export function addOperating(program: Command, io: Io, bind: Bind): void {
  const onDatabase = (command: Command) => outputOptions(databaseOption(command), 'text, json');

  databaseOption(program.command('open').description('print a link that signs in to the page, once; open the browser'))
    .option('--print', 'only print it')
    .addHelpText(
      ...examples(
        '# at a terminal with a desktop: also opens the browser',
        'trustward open',
        '# the link alone, for a browser on another machine',
        'trustward open --print',
      ),
    )
    .action(bind(async (options: never) => (await import('../daemon-client.ts')).openCommand(io, options)));

  const onTokens = (command: Command) =>
    onDatabase(command).option('--all-organizations', 'of every organization at once, with PostgreSQL');
  const tokens = program
    .command('tokens')
    .description('who may call the HTTP endpoint')
    .addHelpText(...examples('# who may call now', 'trustward tokens list'));
  commandOf(tokens, TOKENS.addToken, onTokens).action(
    bind(async (name: never, options: never) => (await import('../tokens.ts')).tokensAddCommand(io, name, options)),
  );
  onTokens(tokens.command('list').description('valid tokens, and when each was last used'))
    .option('--all', 'include expired and revoked tokens')
    .addHelpText(...examples('# which tokens nobody uses', 'trustward tokens list'))
    .action(bind(async (options: never) => (await import('../tokens.ts')).tokensListCommand(io, options)));
  commandOf(tokens, TOKENS.revokeToken, onTokens).action(
    bind(async (name: never, options: never) => (await import('../tokens.ts')).tokensRevokeCommand(io, name, options)),
  );

  outputOptions(
    engineOptions(program.command('doctor').description('check this installation and say what to do; changes nothing')),
    'text, json',
  )
    .addHelpText(
      ...examples(
        '# with the settings of the environment',
        'trustward doctor',
        '# of another database',
        'trustward doctor --db backup.db',
      ),
    )
    .action(bind(async (options: never) => (await import('../doctor.ts')).doctorCommand(io, options)));

  program
    .command('init [dir]')
    .description('lay out a new installation; overwrites nothing')
    .option('--api-url <url>', 'base address of the Management API, for the settings file')
    .addHelpText(...examples('# in a new folder', 'trustward init trustward --api-url https://console.example.com'))
    .action(bind(async (dir: never, options: never) => (await import('../init.ts')).initCommand(io, dir, options)));

  const db = program
    .command('db')
    .description('the database')
    .addHelpText(...examples('# a copy, also while a daemon runs', 'trustward db backup trustward-backup.db'));
  onDatabase(
    db
      .command('backup <file>')
      .description('make a verified copy, also while a daemon runs; keep the key and the checkpoints elsewhere too'),
  )
    .option('--with-history', 'also copy the recorded history, to a folder beside the copy')
    .addHelpText(...examples('# a copy beside the database', 'trustward db backup trustward-backup.db'))
    .action(bind(async (file: never, options: never) => (await import('../db.ts')).dbBackupCommand(io, file, options)));
  onDatabase(db.command('restore <file>').description('put a backup in place; it is stopped until you accept it'))
    .option('--replace', 'also in the place of a newer database, or of one of another address')
    .addHelpText(
      ...examples('# put a copy where TRUSTWARD_DB names a file', 'trustward db restore trustward-backup.db'),
    )
    .action(
      bind(async (file: never, options: never) => (await import('../db.ts')).dbRestoreCommand(io, file, options)),
    );
  onDatabase(
    db
      .command('move')
      .description('take a SQLite database, its audit and what lies beside it to an organization in PostgreSQL')
      .requiredOption(
        '--to <address>',
        'such as postgres://user@host/name; TRUSTWARD_STATE is the folder for the files beside',
      ),
  )
    .addHelpText(
      ...examples(
        '# the file that TRUSTWARD_DB names, with its daemon stopped',
        'trustward db move --to postgres://trustward@db.example.com/trustward',
      ),
    )
    .action(bind(async (options: never) => (await import('../db.ts')).dbMoveCommand(io, options)));
}
