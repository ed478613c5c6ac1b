// cli: the grammar of `history …`: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { databaseOption, outputOptions } from './options.ts';

export function addHistory(program: Command, io: Io, bind: Bind): void {
  const history = program
    .command('history')
    .description('what runs saw: the recorded history beside the database')
    .addHelpText(...examples('# whether every file of it is whole', 'trustward history verify'));
  const add = (name: string, text: string) =>
    outputOptions(databaseOption(history.command(name).description(text)), 'text, json');
  add('list', 'recorded days, with their runs and sizes')
    .addHelpText(...examples('# how much is recorded', 'trustward history list'))
    .action(bind(async (options: never) => (await import('../history.ts')).historyListCommand(io, options)));
  add('verify', 'check every file; names each that is damaged, foreign or missing')
    .addHelpText(...examples('# exit code 1 when something is lost', 'trustward history verify'))
    .action(bind(async (options: never) => (await import('../history.ts')).historyVerifyCommand(io, options)));
  add('forget <subject>', 'remove the records of one user, device or service from every file; without a daemon')
    .requiredOption('--reason <text>', 'why, for the audit')
    .addHelpText(
      ...examples(
        '# a person who asked for it, by e-mail address',
        'trustward history forget ada@example.com --reason "request of 2 June"',
      ),
    )
    .action(
      bind(async (subject: never, options: never) =>
        (await import('../history.ts')).historyForgetCommand(io, subject, options),
      ),
    );
}
