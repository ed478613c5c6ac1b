// cli: the commands for operating an installation.
import { DATABASE, ENGINE, lines, operation, output, type Row } from './row.ts';

const ON_DATABASE = [...DATABASE, ...output('text, json')];
const OF_ALL = { flag: '--all-organizations', text: 'of every organization at once, with PostgreSQL' };
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
