// cli: the commands for operating an installation.
import type { OptionWords } from '../../../contract/commands.ts';
import { DATABASE, ENDPOINT, ENGINE, lines, ORGANIZATION, operation, output, type Row } from './row.ts';

const ON_DATABASE = [...DATABASE, ...output('text, json')];
const OF_ALL = { flag: '--all-organizations', text: 'of every organization at once, with PostgreSQL' };
const STAGE: OptionWords = {
  flag: '--stage <stage>',
  text: 'which mail',
  choices: ['first', 'reminder'],
  byDefault: 'first',
};
const ON_TOKENS = [...ON_DATABASE, OF_ALL];

export const ROWS: readonly Row[] = [
  {
    line: 'open',
    summary: 'print a link that signs in to the page, once; open the browser',
    options: [...DATABASE, { flag: '--print', text: 'only print it' }],
    examples: [
      '# at a terminal with a desktop: also opens the browser',
      'trustward open',
      '# the link alone, for a browser on another machine',
      'trustward open --print',
    ],
    load: async () => (await import('../daemon-client.ts')).openCommand,
  },
  {
    line: 'login',
    summary: 'sign in at an endpoint on another machine, by the identity provider that it has',
    options: [ENDPOINT],
    examples: [
      '# then commands with --endpoint, or TRUSTWARD_ENDPOINT, have your rights there',
      'trustward login --endpoint https://trustward.example.com',
    ],
    load: async () => (await import('../login.ts')).loginCommand,
  },
  {
    line: 'logout',
    summary: 'end that session, here and there',
    options: [ENDPOINT],
    examples: ['# at the only endpoint that you are signed in at', 'trustward logout'],
    load: async () => (await import('../login.ts')).logoutCommand,
  },
  {
    line: 'tokens',
    summary: 'who may call the HTTP endpoint',
    examples: ['# who may call now', 'trustward tokens list'],
  },
  operation('addToken', ON_TOKENS, async () => (await import('../tokens.ts')).tokensAddCommand),
  {
    line: 'tokens list',
    summary: 'valid tokens, and when each was last used',
    options: [
      ...DATABASE,
      ...lines('text, json'),
      OF_ALL,
      { flag: '--all', text: 'include expired and revoked tokens' },
    ],
    examples: ['# which tokens nobody uses', 'trustward tokens list'],
    load: async () => (await import('../tokens.ts')).tokensListCommand,
  },
  operation('revokeToken', ON_TOKENS, async () => (await import('../tokens.ts')).tokensRevokeCommand),
  {
    line: 'doctor',
    summary: 'check this installation and say what to do; changes nothing',
    options: [...ENGINE, ...output('text, json')],
    examples: [
      '# with the settings of the environment',
      'trustward doctor',
      '# of another database',
      'trustward doctor --db backup.db',
    ],
    load: async () => (await import('../doctor.ts')).doctorCommand,
  },
  {
    line: 'mail',
    summary: 'the mail that warns people before a rule acts',
    examples: ['# as text', 'trustward mail preview'],
  },
  {
    line: 'mail preview',
    summary: 'a mail as a made-up person would get it; sends nothing',
    options: [ORGANIZATION, STAGE, ...output('text, html')],
    examples: [
      '# what a reminder says',
      'trustward mail preview --stage reminder',
      '# to look at it in a browser',
      'trustward mail preview --out preview.html',
    ],
    load: async () => (await import('../mail.ts')).mailPreviewCommand,
  },
  {
    line: 'mail test <address>',
    argument: 'who gets it',
    summary: 'send that mail to an address, over the configured mail server',
    options: [ORGANIZATION, STAGE],
    examples: ['# to yourself', 'trustward mail test ana@example.com'],
    load: async () => (await import('../mail.ts')).mailTestCommand,
  },
  {
    line: 'mail templates <folder>',
    argument: 'a folder; no file in it is overwritten',
    summary: 'copy the templates of mail that come with Trustward, to change them',
    examples: ['# then set TRUSTWARD_MAIL_TEMPLATES', 'trustward mail templates mail'],
    load: async () => (await import('../mail.ts')).mailTemplatesCommand,
  },
  {
    line: 'init [dir]',
    summary: 'lay out a new installation; overwrites nothing',
    options: [{ flag: '--api-url <url>', text: 'base address of the Management API, for the settings file' }],
    examples: ['# in a new folder', 'trustward init trustward --api-url https://console.example.com'],
    load: async () => (await import('../init.ts')).initCommand,
  },
  {
    line: 'db',
    summary: 'the database',
    examples: ['# a copy, also while a daemon runs', 'trustward db backup trustward-backup.db'],
  },
  {
    line: 'db backup <file>',
    summary: 'make a verified copy, also while a daemon runs; keep the key and the checkpoints elsewhere too',
    options: [
      ...ON_DATABASE,
      { flag: '--with-history', text: 'also copy the recorded history, to a folder beside the copy' },
    ],
    examples: ['# a copy beside the database', 'trustward db backup trustward-backup.db'],
    load: async () => (await import('../db.ts')).dbBackupCommand,
  },
  {
    line: 'db restore <file>',
    summary: 'put a backup in place; it is stopped until you accept it',
    options: [
      ...ON_DATABASE,
      { flag: '--replace', text: 'also in the place of a newer database, or of one of another address' },
    ],
    examples: ['# put a copy where TRUSTWARD_DB names a file', 'trustward db restore trustward-backup.db'],
    load: async () => (await import('../db.ts')).dbRestoreCommand,
  },
  {
    line: 'db move',
    summary: 'take a SQLite database, its audit and what lies beside it to an organization in PostgreSQL',
    options: [
      {
        flag: '--to <address>',
        text: 'such as postgres://user@host/name; TRUSTWARD_STATE is the folder for the files beside',
        isRequired: true,
      },
      ...ON_DATABASE,
    ],
    examples: [
      '# the file that TRUSTWARD_DB names, with its daemon stopped',
      'trustward db move --to postgres://trustward@db.example.com/trustward',
    ],
    load: async () => (await import('../db.ts')).dbMoveCommand,
  },
];
