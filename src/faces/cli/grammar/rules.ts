// cli: the grammar of `explain`, `facts` and `rules …`: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { databaseOption, engineOptions, ORGANIZATION, outputOptions, rulesOption, sinceOption } from './options.ts';

export function addRules(program: Command, io: Io, bind: Bind): void {
  const rules = program
    .command('rules')
    .description('rule files')
    .addHelpText(
      ...examples(
        '# what is wrong with the rules of a folder',
        'trustward rules check --rules new-rules',
        '# whether their tests pass',
        'trustward rules test --rules new-rules',
      ),
    );
  const add = (name: string, text: string, formats: string) =>
    outputOptions(rules.command(name).description(text), formats).addOption(rulesOption());
  const ofOrganization = (name: string, text: string, formats: string) =>
    add(name, text, formats).option(...ORGANIZATION);
  outputOptions(
    engineOptions(
      program.command('explain <rule> <subject>').description('show why a rule matches one subject or not'),
    ),
    'text, json',
  )
    .addHelpText(
      ...examples(
        '# one user, by e-mail',
        'trustward explain notify-user-unauthorized-access ana.ruiz@example.com',
        '# one device, by rules that are not active yet',
        'trustward explain ban-compromised-device C02MQHAHEA --rules new-rules',
      ),
    )
    .action(
      bind(async (rule: never, subject: never, options: never) =>
        (await import('../why.ts')).explainCommand(io, rule, subject, options),
      ),
    );
  outputOptions(
    program
      .command('facts [subject]')
      .description('list the facts that rules can read, of a device, user, service or event; all by default'),
    'text, json, md',
  )
    .option('--at <when>', 'the facts of one subject at an earlier time, from the history (then name the subject)')
    .option('--db <file>', 'the database whose history has them (TRUSTWARD_DB)')
    .option(...ORGANIZATION)
    .option('--no-sample', 'do not read records to count missing facts in')
    .option('--api-url <url>', 'base address of the Management API (TRUSTWARD_API_URL)')
    .addHelpText(
      ...examples(
        '# what a rule about devices can read, and how often each fact is missing',
        'trustward facts device',
        '# all that was recorded of one device at a time',
        'trustward facts C02MQHAHEA --at 2027-01-10T18:00Z',
        '# everything, as a page, without a look at records',
        'trustward facts --no-sample --format md --out facts.md',
      ),
    )
    .action(
      bind(async (subject: never, options: never) => (await import('../facts.ts')).factsCommand(io, subject, options)),
    );
  ofOrganization('check', 'check that all rules load; file, line and column of each problem', 'text, json')
    .addHelpText(...examples('# before a folder becomes the active one', 'trustward rules check --rules new-rules'))
    .action(bind(async (options: never) => (await import('../rules.ts')).rulesCheckCommand(io, options)));
  ofOrganization('test', 'run the tests inside the rules, with coverage of conditions', 'text, json, junit')
    .option('--mutate', 'also list changes of a rule that no test notices')
    .addHelpText(
      ...examples(
        '# all tests, and what they do not notice',
        'trustward rules test --mutate',
        '# for a build server',
        'trustward rules test --format junit --out rules.xml',
      ),
    )
    .action(bind(async (options: never) => (await import('../rules.ts')).rulesTestCommand(io, options)));
  add('schema', 'JSON Schema of a rule file, for editors', 'json')
    .addHelpText(
      ...examples('# beside the rules, where editors find it', 'trustward rules schema --out rules/rule.schema.json'),
    )
    .action(bind(async (options: never) => (await import('../rules.ts')).rulesSchemaCommand(io, options)));
  ofOrganization(
    'evidence [rule]',
    'what tests and recorded time show of each rule, and what its next mode needs',
    'text, json, md',
  )
    .option('--db <file>', 'the database whose history is replayed (TRUSTWARD_DB)')
    .option('--since <when>', 'replay from then on: a duration back from now, or a date (UTC); 30d by default')
    .option('--require', 'exit with code 1 when a rule has a mode that it has not earned')
    .addHelpText(
      ...examples(
        '# what is missing before a rule may act by itself',
        'trustward rules evidence ban-compromised-device',
        '# in the CI of a repository of rules: without a history, tests alone count',
        'trustward rules evidence --rules rules --require --format md --out evidence.md',
      ),
    )
    .action(
      bind(async (rule: never, options: never) =>
        (await import('../rules-evidence.ts')).rulesEvidenceCommand(io, rule, options),
      ),
    );
  ofOrganization('list', 'the rules of the folder', 'text, json')
    .addHelpText(...examples('# each rule with its mode and its actions', 'trustward rules list'))
    .action(bind(async (options: never) => (await import('../rules.ts')).rulesListCommand(io, options)));
  outputOptions(
    databaseOption(
      rules
        .command('diff <old> <new>')
        .description('compare two folders of rules: who would be added and who would go, now and over recorded time'),
    ),
    'text, json, md',
  )
    .addOption(sinceOption().default('30d'))
    .option('--until <when>', 'up to then: a duration back from now, or a date (UTC); now by default')
    .option('--every <duration>', 'decide at most one whole run in this time, such as 1h: faster, less exact')
    .addHelpText(
      ...examples(
        '# what a change of the rules does; exit code 0: nothing, 1: something',
        'trustward rules diff rules new-rules',
        '# for a pull request',
        'trustward rules diff rules new-rules --since 14d --format md --out diff.md',
      ),
    )
    .action(
      bind(async (old: never, changed: never, options: never) =>
        (await import('../history.ts')).rulesDiffCommand(io, old, changed, options),
      ),
    );
}
