// commands: the grammar of the commands for operating: names, options and their help, each bound to its command.
import type { Command } from 'commander';
import { dbBackupCommand } from './db-backup.ts';
import { dbRestoreCommand } from './db-restore.ts';
import { doctorCommand } from './doctor.ts';
import { initCommand } from './init.ts';
import type { Io } from './io.ts';
import type { SharedOptions } from './operator-grammar.ts';
import { tokensAddCommand, tokensListCommand, tokensRevokeCommand } from './tokens.ts';

type Bind = (action: (...args: never[]) => Promise<number>) => (...values: unknown[]) => Promise<void>;

export function addOperating(program: Command, io: Io, bind: Bind, shared: SharedOptions): void {
  const onDatabase = (command: Command) => shared.output(shared.database(command), 'text, json');

  const tokens = program.command('tokens').description('who may call the HTTP endpoint');
  onDatabase(tokens.command('add <name>').description('make a token and print it to standard output, once'))
    .requiredOption('--scope <scope>', 'read, trigger, approve or admin; each includes those before it')
    .option('--expires <when>', 'a duration such as 90d, or a date (UTC); by default valid until revoked')
    .action(bind((name: never, options: never) => tokensAddCommand(io, name, options)));
  onDatabase(tokens.command('list').description('valid tokens, and when each was last used'))
    .option('--all', 'include expired and revoked tokens')
    .action(bind((options: never) => tokensListCommand(io, options)));
  onDatabase(tokens.command('revoke <name>').description('refuse a token from the next request on')).action(
    bind((name: never, options: never) => tokensRevokeCommand(io, name, options)),
  );

  shared
    .output(
      shared.engine(
        program.command('doctor').description('check this installation and say what to do; changes nothing'),
      ),
      'text, json',
    )
    .action(bind((options: never) => doctorCommand(io, options)));

  program
    .command('init [dir]')
    .description('lay out a new installation; overwrites nothing')
    .option('--api-url <url>', 'base address of the Management API, for the settings file')
    .action(bind((dir: never, options: never) => initCommand(io, dir, options)));

  const db = program.command('db').description('the database');
  onDatabase(
    db
      .command('backup <file>')
      .description('make a verified copy, also while a daemon runs; keep the key and the checkpoints elsewhere too'),
  ).action(bind((file: never, options: never) => dbBackupCommand(io, file, options)));
  onDatabase(db.command('restore <file>').description('put a backup in place; it is stopped until you accept it'))
    .option('--replace', 'also in the place of a newer database, or of one of another address')
    .action(bind((file: never, options: never) => dbRestoreCommand(io, file, options)));
}
