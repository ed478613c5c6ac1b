// cli: the grammar of the commands that run rules and apply plans: names, options and their help.
import type { Command } from 'commander';
import { PLANS } from '../../../contract/plans.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { commandOf, concurrencyOption, engineOptions, modeOption, outputOptions, serveOptions } from './options.ts';

export function addActing(program: Command, io: Io, bind: Bind): void {
  serveOptions(program.command('serve').description('run the daemon: schedule and HTTP endpoint'))
    .option('--listen <host:port>', 'address of the HTTP endpoint (TRUSTWARD_LISTEN)')
    .option('--schedule <cron>', 'when runs happen (TRUSTWARD_SCHEDULE)')
    .option('--watch <duration>', 'time between two looks at the event log; 0s: none (TRUSTWARD_WATCH)')
    .addOption(modeOption('the most that any rule may do (TRUSTWARD_MODE)'))
    .addOption(concurrencyOption())
    .addHelpText(
      ...examples(
        '# with the settings of the environment; a made-up organization without TRUSTWARD_API_URL',
        'trustward serve',
        '# every ten minutes; what would be done waits for approval',
        "trustward serve --mode approve --schedule '*/10 * * * *'",
      ),
    )
    .action(bind(async (options: never) => (await import('../serve.ts')).serveCommand(io, options)));
  program
    .command('worker')
    .description('carry out the runs and commands of all organizations, with PostgreSQL; any number, on any machines')
    .option('--db <address>', 'the database, postgres://… (TRUSTWARD_DB)')
    .option('--listen <host:port>', 'address of its health and metrics, without a token (TRUSTWARD_WORKER_LISTEN)')
    .option('--concurrency <count>', 'organizations worked on at once (TRUSTWARD_WORKER_CONCURRENCY)')
    .addHelpText(
      ...examples(
        '# the organizations of the folder TRUSTWARD_ORGANIZATIONS, sixteen of them at once',
        'trustward worker --concurrency 16',
      ),
    )
    .action(bind(async (options: never) => (await import('../serve-endpoint.ts')).workerCommand(io, options)));
  outputOptions(
    engineOptions(program.command('run').description('do one run and print its report')),
    'text, json, md, csv, html',
  )
    .addOption(modeOption('how far this run may go'))
    .addOption(concurrencyOption())
    .option('--rule <id...>', 'only these rules')
    .addHelpText(
      ...examples(
        '# what the rules would do now; nothing is changed',
        'trustward run --mode dry-run',
        '# one rule, and the report as a file',
        'trustward run --rule ban-compromised-device --format md --out run.md',
        '# other rules than the active ones: a what-if, of which nothing is kept',
        'trustward run --rules new-rules',
      ),
    )
    .action(bind(async (options: never) => (await import('../run.ts')).runCommand(io, options)));
  outputOptions(
    engineOptions(program.command('plan').description('do a dry run that seals what a live run would do')),
    'text, json, md, csv, html',
  )
    .option('--rule <id...>', 'only these rules')
    .addHelpText(
      ...examples(
        '# everything that a live run would do',
        'trustward plan',
        '# for review in a merge request',
        'trustward plan --format md --out plan.md',
      ),
    )
    .action(bind(async (options: never) => (await import('../run.ts')).planCommand(io, options)));
  const answering = (command: Command) => outputOptions(engineOptions(command), 'text, json');
  const commands = () => import('../run.ts');
  commandOf(program, PLANS.approvePlan, answering).action(
    bind(async (plan: never, options: never) => (await commands()).approveCommand(io, plan, options)),
  );
  commandOf(program, PLANS.rejectPlan, answering).action(
    bind(async (plan: never, options: never) => (await commands()).rejectCommand(io, plan, options)),
  );
  commandOf(program, PLANS.applyPlan, (command) => answering(command).addOption(concurrencyOption())).action(
    bind(async (plan: never, options: never) => (await commands()).applyCommand(io, plan, options)),
  );
}
