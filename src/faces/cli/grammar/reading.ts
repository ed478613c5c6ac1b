// cli: the commands that read.
import type { OptionWords } from '../../../contract/commands.ts';
import { UNKNOWN } from '../../../domain/listed-facts.ts';
import { MEND_DEFAULT } from '../../../domain/replay.ts';
import { DATABASE, ENGINE, EVERY, limit, lines, output, type Row, SINCE, UNTIL } from './row.ts';

const WORDS_OF_NAME =
  'words of its name, each in full or its beginning; or an id, a serial number or an e-mail address';
const LEVEL: OptionWords = { flag: '--level <level>', text: 'only this trust level, such as Low, or unknown' };

/** `--banned`, `--banned false`, `--banned unknown`. */
function flagOption(name: string, text: string): OptionWords {
  return { flag: `--${name} [value]`, text, choices: ['true', 'false', UNKNOWN] };
}

const OF_ALL_LISTS = (sorts: string): OptionWords[] => [
  { flag: '--rule <id>', text: 'only those that this rule matches now' },
  { flag: '--sort <by>', text: sorts, byDefault: 'name' },
  { flag: '--desc', text: 'in the opposite order' },
  limit('50'),
  { flag: '--after <position>', text: 'those that follow: `next` of the page before' },
];

export const ROWS: readonly Row[] = [
  {
    line: 'why <what>',
    summary: 'show all that is known of one device, user or service, by any of its names',
    options: [
      ...ENGINE,
      ...output('text, json'),
      {
        flag: '--at <when>',
        text: 'as of an earlier time, from the history: a duration back from now, or a date (UTC)',
      },
    ],
    examples: [
      '# as it was two days ago; the platform is not asked',
      'trustward why C02MQHAHEA --at 2d',
      '# by serial number: its state, who did it, what comes next',
      'trustward why C02MQHAHEA',
      '# the devices of a person',
      'trustward why ana.ruiz@example.com',
    ],
    load: async () => (await import('../why.ts')).whyCommand,
  },
  {
    line: 'report [run]',
    summary: 'show the report of a run, by number, id or the beginning of the id; the last that ended by default',
    options: [
      ...DATABASE,
      ...output('text, json, md, csv, html'),
      { flag: '--completed', text: 'the last run that was completed over all active rules' },
    ],
    examples: ['# the latest run', 'trustward report', '# run 12, for a ticket', 'trustward report 12 --out run-12.md'],
    load: async () => (await import('../report.ts')).reportCommand,
  },
  {
    line: 'plans [plan]',
    summary: 'list plans, those that wait first; or show one',
    options: [
      ...DATABASE,
      ...lines('text, json'),
      { flag: '--status <status>', text: 'only plans of this status, such as pending' },
      limit('20'),
    ],
    examples: [
      '# what waits for an answer',
      'trustward plans --status pending',
      '# what approving it does',
      'trustward plans 01kb3n2v',
    ],
    load: async () => (await import('../plan-list.ts')).plansCommand,
  },
  {
    line: 'summary',
    summary: 'show what happened since a time, and who did it',
    options: [...DATABASE, ...output('text, json, md'), { ...SINCE, byDefault: '12h' }],
    examples: [
      '# last night',
      'trustward summary',
      '# the week, for a ticket',
      'trustward summary --since 7d --format md',
    ],
    load: async () => (await import('../summary.ts')).summaryCommand,
  },
  {
    line: 'runs',
    summary: 'list runs, newest first',
    options: [
      ...DATABASE,
      ...lines('text, json'),
      SINCE,
      { flag: '--status <status>', text: 'only these', choices: ['completed', 'aborted', 'running'] },
      limit('20'),
    ],
    examples: ['# runs that broke off since yesterday', 'trustward runs --since 24h --status aborted'],
    load: async () => (await import('../reading.ts')).runsCommand,
  },
  {
    line: 'decisions',
    summary: 'list decisions, newest first',
    options: [
      ...DATABASE,
      ...lines('text, json, csv'),
      { flag: '--rule <id>', text: 'only this rule' },
      { flag: '--subject <id>', text: 'only this device, user or service, by any of its names' },
      { flag: '--target <target>', text: 'only what is done to this device or service, by any of its names' },
      { flag: '--decision <decision>', text: 'only these', choices: ['act', 'hold', 'skip'] },
      { flag: '--action <action>', text: 'only this action, such as ban_device' },
      { flag: '--owner <e-mail>', text: 'only this user, and devices of this owner' },
      SINCE,
      limit('50'),
    ],
    examples: [
      '# all that one rule decided about one serial number',
      'trustward decisions --rule ban-compromised-device --target C02MQHAHEA',
      '# the last five, for a script',
      'trustward decisions --limit 5 --format json',
    ],
    load: async () => (await import('../reading.ts')).decisionsCommand,
  },
  {
    line: 'replay',
    summary: 'send recorded time once more through the rules: what they did, or what other rules would have done',
    options: [
      ...DATABASE,
      ...output('text, json, md, html, csv'),
      { ...SINCE, byDefault: '30d' },
      UNTIL,
      {
        flag: '--rules <folder>',
        text: 'what if: these rules, as if enforced; otherwise as it was, with the rules of that time',
      },
      { flag: '--rule <id...>', text: 'report only these rules' },
      {
        flag: '--mend <share,time>',
        text: `assume this of people whom rules with \`notice\` warn: how many mend it, and how soon (default: ${MEND_DEFAULT})`,
      },
      EVERY,
    ],
    examples: [
      '# what would this rule have done last month?',
      'trustward replay --since 30d --rules new-rules --rule ban-compromised-device',
      '# the same with pictures, to mail',
      'trustward replay --rules new-rules --out replay.html',
      '# whether the decisions of last week can be made again from what was seen',
      'trustward replay --since 7d',
    ],
    load: async () => (await import('../history.ts')).replayCommand,
  },
  {
    line: 'devices [search]',
    summary: 'list devices as the last trusted reading showed them',
    argument: WORDS_OF_NAME,
    options: [
      ...DATABASE,
      ...lines('text, json'),
      flagOption('banned', 'only banned ones'),
      flagOption('compromised', 'only those that device management reports as compromised'),
      { flag: '--platform <name>', text: 'only this platform, such as ios, or other' },
      LEVEL,
      { flag: '--owner <e-mail>', text: 'only those of this owner' },
      ...OF_ALL_LISTS('name, banned, compromised, level or platform'),
    ],
    examples: [
      '# banned iPhones, the least trusted first',
      'trustward devices --banned --platform ios --sort level',
      '# by the beginnings of words of their names',
      'trustward devices "ada mac"',
    ],
    load: async () => (await import('../fleet.ts')).fleetCommand('device'),
  },
  {
    line: 'users [search]',
    summary: 'list users as the last trusted reading showed them',
    argument: WORDS_OF_NAME,
    options: [...DATABASE, ...lines('text, json'), LEVEL, ...OF_ALL_LISTS('name or level')],
    examples: ['# whom the platform trusts least', 'trustward users --level Low'],
    load: async () => (await import('../fleet.ts')).fleetCommand('user'),
  },
  {
    line: 'services [search]',
    summary: 'list services as the last trusted reading showed them',
    argument: WORDS_OF_NAME,
    options: [
      ...DATABASE,
      ...lines('text, json'),
      flagOption('enabled', 'only those that are on, or off'),
      ...OF_ALL_LISTS('name or enabled'),
    ],
    examples: ['# what is off', 'trustward services --enabled false'],
    load: async () => (await import('../fleet.ts')).fleetCommand('service'),
  },
];
