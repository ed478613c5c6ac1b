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
  const answering = (name: string) =>
    outputOptions(
      engineOptions(
        program.command(`${name} <plan>`).description(`${name} a plan, by its id or the beginning of the id`),
      ),
      'text, json',
    ).option('--reason <text>', 'why, for the audit');
  answering('approve')
    .option('--rule <id...>', 'only actions whose every rule is named')
    .option('--only <target...>', 'only these targets or subjects')
    .option('--except <target...>', 'not these targets or subjects')
    .option('--yes', 'do not ask at a terminal')
    .action(
      bind(async (plan: never, options: never) => (await import('../plans.ts')).approveCommand(io, plan, options)),
    );
  answering('reject').action(
    bind(async (plan: never, options: never) => (await import('../plans.ts')).rejectCommand(io, plan, options)),
  );
  outputOptions(
    engineOptions(program.command('apply <plan>').description('apply an approved plan: exactly it, or a part of it')),
    'text, json',
  ).action(bind(async (plan: never, options: never) => (await import('../plans.ts')).applyCommand(io, plan, options)));
}
