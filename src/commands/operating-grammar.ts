// commands: the grammar of what an operator needs: names, options and their help, each bound to its command.
import type { Command } from 'commander';
import { dbBackupCommand } from './db-backup.ts';
import { doctorCommand } from './doctor.ts';
import { initCommand } from './init.ts';
import type { Io } from './io.ts';
import type { SharedOptions } from './operator-grammar.ts';
import { tokensAddCommand, tokensListCommand, tokensRevokeCommand } from './tokens.ts';

type Bind = (action: (...args: never[]) => Promise<number>) => (...values: unknown[]) => Promise<void>;

export function addOperating(program: Command, io: Io, bind: Bind, shared: SharedOptions): void {
  const onDatabase = (command: Command) => shared.output(shared.database(command), 'text, json');

  const tokens = program.command('tokens').description('who may call the HTTP endpoint');
  onDatabase(tokens.command('add <name>').description('make one; it is written to standard output, this once'))
    .requiredOption('--scope <scope>', 'read, trigger, approve or admin, each with the ones before it')
    .option('--expires <when>', 'a duration such as 90d, or a date (UTC); without one it is good until revoked')
    .action(bind((name: never, options: never) => tokensAddCommand(io, name, options)));
  onDatabase(tokens.command('list').description('those that are good, and when they were used last'))
    .option('--all', 'also those that are over')
    .action(bind((options: never) => tokensListCommand(io, options)));
  onDatabase(tokens.command('revoke <name>').description('refuse it from the next request on')).action(
    bind((name: never, options: never) => tokensRevokeCommand(io, name, options)),
  );

  shared
    .output(
      shared.engine(
        program.command('doctor').description('whether all is well here, and what to do; it changes nothing'),
      ),
      'text, json',
    )
    .action(bind((options: never) => doctorCommand(io, options)));

  program
    .command('init [dir]')
    .description('lay out a new installation; overwrites nothing')
    .option('--api-url <url>', 'base address of the Management API, for its settings')
    .action(bind((dir: never, options: never) => initCommand(io, dir, options)));

  const db = program.command('db').description('the database');
  onDatabase(db.command('backup <file>').description('a verified copy, also while a daemon runs')).action(
    bind((file: never, options: never) => dbBackupCommand(io, file, options)),
  );
}
