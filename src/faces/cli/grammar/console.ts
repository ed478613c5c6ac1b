// cli: `console …`.
import { EDITIONS } from '../../../console/answer.ts';
import { KEY_SCOPES } from '../../../platform/contract/values.ts';
import type { Row } from './row.ts';

const LOST = ['# when the credentials of the first start are lost', 'trustward console keys add admin:Admin'];

const SCOPES = `
Scopes: ${KEY_SCOPES.slice(0, 5).join(', ')},
  ${KEY_SCOPES.slice(5).join(', ')}`;

const CREDENTIALS = `
Credentials:
  The first start on a database prints an API key, a refresh token and an
  admin token, once. Only their hashes are stored: they cannot be shown again.
  --api-key NAME:SCOPE makes another key at a start, and console keys add at
  any time, also when all others are lost: give a NAME that has no key yet. A
  key of scope Admin may do everything.
  Scopes: ${KEY_SCOPES.slice(0, 5).join(', ')},
    ${KEY_SCOPES.slice(5).join(', ')}`;

export const ROWS: readonly Row[] = [
  {
    line: 'console',
    summary: 'run the reference server of the Management API',
    options: [
      { flag: '--listen <host:port>', text: 'where it listens', byDefault: '127.0.0.1:8081' },
      { flag: '--allowed-hosts <names>', text: 'other host names of the server, separated by commas' },
      { flag: '--db <file>', text: 'its database', byDefault: 'data/console.db' },
      {
        flag: '--seed <n>',
        text: 'fill an empty database with an organization; the same number gives the same one',
      },
      { flag: '--devices <n>', text: 'how many devices' },
      { flag: '--users <n>', text: 'how many users' },
      { flag: '--services <n>', text: 'how many services' },
      { flag: '--events <n>', text: 'how many past events' },
      { flag: '--compromised <n>', text: 'how many compromised devices' },
      { flag: '--live', text: 'let the organization change over time' },
      { flag: '--token-lifetime <duration>', text: 'how long access tokens are valid', byDefault: '10m' },
      { flag: '--api-key <name:scope...>', text: 'an API key of this scope, printed once; may be repeated' },
      {
        flag: '--edition <edition>',
        text: 'basic has no events and no services',
        choices: EDITIONS,
        byDefault: 'full',
      },
      {
        flag: '--service-suffix <text>',
        text: 'the last part of the ServiceID of new services; kept in the database',
      },
      { flag: '--strict-pages', text: 'pages have no logins, as specified' },
      { flag: '--faults', text: 'allow faults to be set at /faults' },
    ],
    more: CREDENTIALS,
    examples: [
      '# an organization of 400 devices that changes over time',
      'trustward console --seed 1 --live',
      '# the next start: the same organization, and a key for a program that reads',
      'trustward console --api-key dashboard:ReadOnly',
    ],
    load: async () => (await import('../console.ts')).consoleCommand,
  },
  { line: 'console keys', summary: "the console's API keys", examples: LOST },
  {
    line: 'console keys add <name:scope...>',
    argument: 'what the key is called, and what it may do',
    summary: 'make API keys, also while the console runs; print each once',
    // The command above reads it; here it is for the help.
    options: [{ flag: '--db <file>', text: 'the database of the console', byDefault: 'data/console.db' }],
    more: SCOPES,
    examples: LOST,
    load: async () => (await import('../console.ts')).consoleKeysAdd,
  },
];
