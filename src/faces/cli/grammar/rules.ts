// cli: `organizations …`, `rules …`, `explain` and `facts`: what files say, and what rules read.
import { API_URL, DATABASE, ENGINE, EVERY, lines, ORGANIZATION, output, type Row, RULES, SINCE, UNTIL } from './row.ts';

const FOLDER = {
  flag: '--organizations <folder>',
  text: 'the folder of organizations (TRUSTWARD_ORGANIZATIONS)',
};
const OF_ORGANIZATION = [RULES, ORGANIZATION];

export const ROWS: readonly Row[] = [
  {
    line: 'organizations',
    summary: 'files of organizations',
    examples: ['# what is wrong with the files of a folder', 'trustward organizations check'],
  },
  {
    line: 'organizations check',
    summary: 'check every file, the rules that it names and its credentials; file, line and column of each mistake',
    options: [...output('text, json'), FOLDER],
    examples: ['# before a folder is put in force', 'trustward organizations check --organizations new-organizations'],
    load: async () => (await import('../organizations.ts')).organizationsCheckCommand,
  },
  {
    line: 'organizations list',
    summary: 'organizations, with address, mode, schedule, rules and whether the credential can be read',
    options: [...lines('text, json'), FOLDER],
    examples: ['# for a script', 'trustward organizations list --format json'],
    load: async () => (await import('../organizations.ts')).organizationsListCommand,
  },
  {
    line: 'rules',
    summary: 'rule files',
    examples: [
      '# what is wrong with the rules of a folder',
      'trustward rules check --rules new-rules',
      '# whether their tests pass',
      'trustward rules test --rules new-rules',
    ],
  },
  {
    line: 'explain <rule> <subject>',
    summary: 'show why a rule matches one subject or not',
    options: [...ENGINE, ...output('text, json')],
    examples: [
      '# one user, by e-mail',
      'trustward explain notify-user-unauthorized-access ana.ruiz@example.com',
      '# one device, by rules that are not active yet',
      'trustward explain ban-compromised-device C02MQHAHEA --rules new-rules',
    ],
    load: async () => (await import('../why.ts')).explainCommand,
  },
  {
    line: 'facts [subject]',
    summary:
      'list the facts that rules can read, of a kind (device, user, service, event) or all; or those of one subject, read now',
    options: [
      ...output('text, json, md'),
      { flag: '--at <when>', text: 'the facts of one subject at an earlier time, from the history' },
      { flag: '--db <file>', text: 'the database that knows the subject (TRUSTWARD_DB)' },
      ORGANIZATION,
      { flag: '--no-sample', text: 'do not read records to count missing facts in' },
      API_URL,
      RULES,
    ],
    examples: [
      '# what a rule about devices can read, and how often each fact is missing',
      'trustward facts device',
      '# what is known of one device, by any of its names',
      'trustward facts C02MQHAHEA',
      '# all that was recorded of it at a time',
      'trustward facts C02MQHAHEA --at 2027-01-10T18:00Z',
    ],
    load: async () => (await import('../facts.ts')).factsCommand,
  },
  {
    line: 'rules check',
    summary: 'check that all rules load; file, line and column of each problem',
    options: [...output('text, json'), ...OF_ORGANIZATION],
    examples: ['# before a folder becomes the active one', 'trustward rules check --rules new-rules'],
    load: async () => (await import('../rules.ts')).rulesCheckCommand,
  },
  {
    line: 'rules test [rule]',
    argument: 'its id or its file; all by default',
    summary: 'run the tests inside the rules, with coverage of conditions',
    options: [
      ...output('text, json, junit'),
      ...OF_ORGANIZATION,
      { flag: '--mutate', text: 'also list changes of a rule that no test notices' },
    ],
    examples: [
      '# all tests, and what they do not notice',
      'trustward rules test --mutate',
      '# those of one file',
      'trustward rules test rules/ban-compromised-device.yaml',
      '# for a build server',
      'trustward rules test --out rules.xml',
    ],
    load: async () => (await import('../rules.ts')).rulesTestCommand,
  },
  {
    line: 'rules schema',
    summary: 'JSON Schema of a rule file, for editors',
    options: [...output('json'), RULES],
    examples: ['# beside the rules, where editors find it', 'trustward rules schema --out rules/rule.schema.json'],
    load: async () => (await import('../rules.ts')).rulesSchemaCommand,
  },
  {
    line: 'rules evidence [rule]',
    summary: 'what tests and recorded time show of each rule, and what its next mode needs',
    options: [
      ...output('text, json, md'),
      ...OF_ORGANIZATION,
      { flag: '--db <file>', text: 'the database whose history is replayed (TRUSTWARD_DB)' },
      {
        flag: '--since <when>',
        text: 'replay from then on: a duration back from now, or a date (UTC); 30d by default',
      },
      { flag: '--require', text: 'exit with code 1 when a rule has a mode that it has not earned' },
    ],
    examples: [
      '# what is missing before a rule may act by itself',
      'trustward rules evidence ban-compromised-device',
      '# in the CI of a repository of rules: without a history, tests alone count',
      'trustward rules evidence --rules rules --require --out evidence.md',
    ],
    load: async () => (await import('../rules-evidence.ts')).rulesEvidenceCommand,
  },
  {
    line: 'rules sign',
    summary: 'sign all files of the folder, for a Trustward with TRUSTWARD_RULES_SIGNERS',
    options: [
      { flag: '--key <file>', text: 'your private key: of SSH (`ssh-keygen` signs), or of Ed25519 in PEM' },
      ...OF_ORGANIZATION,
    ],
    examples: ['# after somebody has looked at the change', 'trustward rules sign --key ~/.ssh/id_ed25519'],
    load: async () => (await import('../rules.ts')).rulesSignCommand,
  },
  {
    line: 'rules list',
    summary: 'the rules of the folder',
    options: [...lines('text, json'), ...OF_ORGANIZATION],
    examples: ['# each rule with its mode and its actions', 'trustward rules list'],
    load: async () => (await import('../rules.ts')).rulesListCommand,
  },
  {
    line: 'rules diff <old> <new>',
    summary: 'compare two folders of rules: who would be added and who would go, now and over recorded time',
    options: [...DATABASE, ...output('text, json, md'), { ...SINCE, byDefault: '30d' }, UNTIL, EVERY],
    examples: [
      '# what a change of the rules does; exit code 0: nothing, 1: something',
      'trustward rules diff rules new-rules',
      '# for a pull request',
      'trustward rules diff rules new-rules --since 14d --out diff.md',
    ],
    load: async () => (await import('../history.ts')).rulesDiffCommand,
  },
];
