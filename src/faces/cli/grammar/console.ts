// cli: the grammar of `console`: its options and their help.
import { type Command, Option } from 'commander';
import { EDITIONS } from '../../../console/answer.ts';
import { KEY_SCOPES } from '../../../platform/contract/values.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';

export function addConsole(program: Command, io: Io, bind: Bind): void {
  const console = program
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
    .option('--service-suffix <text>', 'the last part of the ServiceID of new services; kept in the database')
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
  addKeys(console, io, bind);
}

function addKeys(console: Command, io: Io, bind: Bind): void {
  const lost = examples('# when the credentials of the first start are lost', 'trustward console keys add admin:Admin');
  console
    .command('keys')
    .description("the console's API keys")
    .addHelpText(...lost)
    .command('add')
    .description('make API keys, also while the console runs; print each once')
    .argument('<name:scope...>', 'what the key is called, and what it may do')
    // The command above reads it; here it is for the help.
    .option('--db <file>', 'the database of the console', 'data/console.db')
    .addHelpText('after', SCOPES)
    .addHelpText(...lost)
    .action(
      bind(async (names: never, _options: never, command: Command) =>
        (await import('../console.ts')).consoleKeysAdd(io, names, command.optsWithGlobals()),
      ),
    );
}

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
