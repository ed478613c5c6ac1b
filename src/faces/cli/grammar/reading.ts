// cli: the grammar of the commands that read: names, options and their help.
import { type Command, Option } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { databaseOption, engineOptions, outputOptions, sinceOption } from './options.ts';

export function addReading(program: Command, io: Io, bind: Bind): void {
  outputOptions(
    engineOptions(
      program
        .command('why <what>')
        .description('show all that is known of one device, user or service, by any of its names'),
    ),
    'text, json',
  )
    .option('--at <when>', 'as of an earlier time, from the history: a duration back from now, or a date (UTC)')
    .addHelpText(
      ...examples(
        '# as it was two days ago; the platform is not asked',
        'trustward why C02MQHAHEA --at 2d',
        '# by serial number: its state, who did it, what comes next',
        'trustward why C02MQHAHEA',
        '# the devices of a person',
        'trustward why ana.ruiz@example.com',
      ),
    )
    .action(bind(async (what: never, options: never) => (await import('../why.ts')).whyCommand(io, what, options)));
  outputOptions(
    databaseOption(
      program
        .command('report [run]')
        .description(
          'show the report of a run, by number, id or the beginning of the id; the last that ended by default',
        ),
    ),
    'text, json, md, csv, html',
  )
    .option('--completed', 'the last run that was completed over all active rules')
    .addHelpText(
      ...examples(
        '# the latest run',
        'trustward report',
        '# run 12, for a ticket',
        'trustward report 12 --format md --out run-12.md',
      ),
    )
    .action(bind(async (run: never, options: never) => (await import('../report.ts')).reportCommand(io, run, options)));
  outputOptions(
    databaseOption(program.command('plans [plan]').description('list plans, those that wait first; or show one')),
    'text, json',
  )
    .option('--status <status>', 'only plans of this status, such as pending')
    .option('--limit <n>', 'at most this many', '20')
    .addHelpText(
      ...examples(
        '# what waits for an answer',
        'trustward plans --status pending',
        '# what approving it does',
        'trustward plans 01kb3n2v',
      ),
    )
    .action(
      bind(async (plan: never, options: never) => (await import('../plan-list.ts')).plansCommand(io, plan, options)),
    );
  outputOptions(
    databaseOption(program.command('summary').description('show what happened since a time, and who did it')),
    'text, json, md',
  )
    .addOption(sinceOption().default('12h'))
    .addHelpText(
      ...examples(
        '# last night',
        'trustward summary',
        '# the week, for a ticket',
        'trustward summary --since 7d --format md',
      ),
    )
    .action(bind(async (options: never) => (await import('../summary.ts')).summaryCommand(io, options)));
  outputOptions(databaseOption(program.command('runs').description('list runs, newest first')), 'text, json')
    .addOption(sinceOption())
    .addOption(new Option('--status <status>', 'only these').choices(['completed', 'aborted', 'running']))
    .option('--limit <n>', 'at most this many', '20')
    .addHelpText(...examples('# runs that broke off since yesterday', 'trustward runs --since 24h --status aborted'))
    .action(bind(async (options: never) => (await import('../runs.ts')).runsCommand(io, options)));
  outputOptions(
    databaseOption(program.command('decisions').description('list decisions, newest first')),
    'text, json, csv',
  )
    .option('--rule <id>', 'only this rule')
    .option('--subject <id>', 'only this device, user or service, by any of its names')
    .option('--target <target>', 'only what is done to this device or service, by any of its names')
    .addOption(new Option('--decision <decision>', 'only these').choices(['act', 'hold', 'skip']))
    .option('--action <action>', 'only this action, such as ban_device')
    .option('--owner <e-mail>', 'only this user, and devices of this owner')
    .addOption(sinceOption())
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
  outputOptions(
    databaseOption(
      program
        .command('replay')
        .description(
          'send recorded time once more through the rules: what they did, or what other rules would have done',
        ),
    ),
    'text, json, md, html, csv',
  )
    .addOption(sinceOption().default('30d'))
    .option('--until <when>', 'up to then: a duration back from now, or a date (UTC); now by default')
    .option(
      '--rules <folder>',
      'what if: these rules, as if enforced; otherwise as it was, with the rules of that time',
    )
    .option('--rule <id...>', 'report only these rules')
    .option('--every <duration>', 'decide at most one whole run in this time, such as 1h: faster, less exact')
    .addHelpText(
      ...examples(
        '# what would this rule have done last month?',
        'trustward replay --since 30d --rules new-rules --rule ban-compromised-device',
        '# the same with pictures, to mail',
        'trustward replay --rules new-rules --format html --out replay.html',
        '# whether the decisions of last week can be made again from what was seen',
        'trustward replay --since 7d',
      ),
    )
    .action(bind(async (options: never) => (await import('../history.ts')).replayCommand(io, options)));
}
