// commands: the grammar of `explain`, `facts` and `rules …`: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { engineOptions, outputOptions, rulesOption } from './options.ts';

export function addRules(program: Command, io: Io, bind: Bind): void {
  const rules = program.command('rules').description('rule files');
  const add = (name: string, text: string, formats: string) =>
    outputOptions(rules.command(name).description(text), formats).addOption(rulesOption());
  outputOptions(
    engineOptions(
      program.command('explain <rule> <subject>').description('show why a rule matches one subject or not'),
    ),
    'text, json',
  ).action(
    bind(async (rule: never, subject: never, options: never) =>
      (await import('../explain.ts')).explainCommand(io, rule, subject, options),
    ),
  );
  outputOptions(
    program
      .command('facts [subject]')
      .description('list the facts that rules can read, of a device, user, service or event; all by default'),
    'text, json, md',
  )
    .option('--no-sample', 'do not read records to count missing facts in')
    .option('--api-url <url>', 'base address of the Management API (TRUSTWARD_API_URL)')
    .action(
      bind(async (subject: never, options: never) => (await import('../facts.ts')).factsCommand(io, subject, options)),
    );
  add('check', 'check that all rules load; file, line and column of each problem', 'text, json').action(
    bind(async (options: never) => (await import('../rules.ts')).rulesCheckCommand(io, options)),
  );
  add('test', 'run the tests inside the rules, with coverage of conditions', 'text, json, junit')
    .option('--mutate', 'also list changes of a rule that no test notices')
    .action(bind(async (options: never) => (await import('../rules.ts')).rulesTestCommand(io, options)));
  add('schema', 'JSON Schema of a rule file, for editors', 'json').action(
    bind(async (options: never) => (await import('../rules.ts')).rulesSchemaCommand(io, options)),
  );
  add('list', 'the rules of the folder', 'text, json').action(
    bind(async (options: never) => (await import('../rules.ts')).rulesListCommand(io, options)),
  );
}
