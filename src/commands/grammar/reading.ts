// commands: the grammar of the commands that read: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { databaseOption, outputOptions } from './options.ts';

export function addReading(program: Command, io: Io, bind: Bind): void {
  outputOptions(
    databaseOption(
      program
        .command('report [run]')
        .description('show the report of a run, by number, id or the beginning of the id; the latest by default'),
    ),
    'text, json, md',
  )
    .addHelpText(
      ...examples(
        '# the latest run',
        'trustward report',
        '# run 12, as a page',
        'trustward report 12 --format md --out run-12.md',
      ),
    )
    .action(
      bind(async (run: never, options: never) => (await import('../reading.ts')).reportCommand(io, run, options)),
    );
  outputOptions(databaseOption(program.command('decisions').description('list decisions, newest first')), 'text, json')
    .option('--rule <id>', 'only this rule')
    .option('--subject <id>', 'only this device (DeviceID), user (e-mail) or service (ServiceID)')
    .option('--target <target>', 'only this serial number or service')
    .option('--limit <n>', 'at most this many', '50')
    .addHelpText(
      ...examples(
        '# all that one rule decided about one serial number',
        'trustward decisions --rule ban-compromised-device --target C02MQHAHEA',
        '# the last five, for a script',
        'trustward decisions --limit 5 --format json',
      ),
    )
    .action(bind(async (options: never) => (await import('../reading.ts')).decisionsCommand(io, options)));
}
