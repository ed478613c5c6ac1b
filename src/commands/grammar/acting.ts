// commands: the grammar of the commands that run rules and apply plans: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { engineOptions, modeOption, outputOptions } from './options.ts';

export function addActing(program: Command, io: Io, bind: Bind): void {
  engineOptions(program.command('serve').description('run the daemon: schedule and HTTP endpoint'))
    .option('--listen <host:port>', 'address of the HTTP endpoint (TRUSTWARD_LISTEN)')
    .option('--schedule <cron>', 'when runs happen (TRUSTWARD_SCHEDULE)')
    .addOption(modeOption('the most that any rule may do (TRUSTWARD_MODE)'))
    .action(bind(async (options: never) => (await import('../serve.ts')).serveCommand(io, options)));
  outputOptions(engineOptions(program.command('run').description('do one run and print its report')), 'text, json, md')
    .addOption(modeOption('how far this run may go'))
    .option('--rule <id...>', 'only these rules')
    .action(bind(async (options: never) => (await import('../run.ts')).runCommand(io, options)));
  outputOptions(
    engineOptions(program.command('plan').description('do a dry run that seals what a live run would do')),
    'text, json, md',
  )
    .option('--rule <id...>', 'only these rules')
    .action(bind(async (options: never) => (await import('../plans.ts')).planCommand(io, options)));
  for (const answer of ['approve', 'reject'] as const) {
    outputOptions(
      engineOptions(
        program.command(`${answer} <plan>`).description(`${answer} a plan, by its id or the beginning of the id`),
      ),
      'text, json',
    )
      .option('--reason <text>', 'why, for the audit')
      .action(
        bind(async (plan: never, options: never) =>
          (await import('../plans.ts')).answerCommand(io, plan, answer, options),
        ),
      );
  }
  outputOptions(
    engineOptions(program.command('apply <plan>').description('apply an approved plan: exactly it, or a part of it')),
    'text, json',
  ).action(bind(async (plan: never, options: never) => (await import('../plans.ts')).applyCommand(io, plan, options)));
}
