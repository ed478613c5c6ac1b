// commands: the grammar of `console`: its options and their help.
import { type Command, Option } from 'commander';
import { EDITIONS } from '../../console/editions.ts';
import { KEY_SCOPES } from '../../management/contract/values.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';

export function addConsole(program: Command, io: Io, bind: Bind): void {
  program
    .command('console')
    .description('run the reference server of the Management API')
    .option('--listen <host:port>', 'where it listens', '127.0.0.1:8081')
    .option('--allowed-hosts <names>', 'other host names of the server, separated by commas')
    .option('--db <file>', 'its database', 'data/console.db')
    .option('--seed <n>', 'fill an empty database with an organization; the same number gives the same one')
    .option('--devices <n>', 'how many devices')
    .option('--users <n>', 'how many users')
    .option('--services <n>', 'how many services')
    .option('--events <n>', 'how many past events')
    .option('--compromised <n>', 'how many compromised devices')
    .option('--live', 'let the organization change over time')
    .option('--token-lifetime <duration>', 'how long access tokens are valid', '10m')
    .option('--api-key <name:scope...>', 'an API key of this scope, printed once; may be repeated')
    .addOption(
      new Option('--edition <edition>', 'basic has no events and no services').choices(EDITIONS).default('full'),
    )
    .option('--strict-pages', 'pages have no logins, as specified')
    .option('--faults', 'allow faults to be set at /faults')
    .addHelpText('after', CREDENTIALS)
    .addHelpText(
      ...examples(
        '# an organization of 400 devices that changes over time',
        'trustward console --seed 1 --live',
        '# the next start: the same organization, and a key for a program that reads',
        'trustward console --api-key dashboard:ReadOnly',
      ),
    )
    .action(bind(async (options: never) => (await import('../console.ts')).consoleCommand(io, options)));
}

const CREDENTIALS = `
Credentials:
  The first start on a database prints an API key, a refresh token and an
  admin token, once. Only their hashes are stored: they cannot be shown again.
  --api-key NAME:SCOPE makes another key, also when all others are lost: give
  a NAME that has no key yet. A key of scope Admin may do everything.
  Scopes: ${KEY_SCOPES.slice(0, 5).join(', ')},
    ${KEY_SCOPES.slice(5).join(', ')}`;
