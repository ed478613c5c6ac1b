// commands: commands in texts for people, as this process was started: a person can copy them. Every text of the source names a
// command as `trustward …`; only what a person reads on this screen is rewritten, here: the program, and the organization that was named.
// JSON, Markdown and files stay as they are.
import { basename, delimiter, dirname, relative } from 'node:path';
import { isOrganizationId } from '../domain/organization.ts';
import { shellWord } from '../domain/shell-word.ts';

interface Started {
  /** The path of the program, links not followed. */
  program: string;
  env: Record<string, string | undefined>;
  folder: string;
}

/** `npx trustward` through npm, `trustward` when that is found on PATH, otherwise `node` and the file. */
export function invokedAs({ program, env, folder }: Started): string {
  if (env.npm_command !== undefined) return 'npx trustward'; // npx, npm start, npm run
  const place = dirname(program);
  if (basename(program) === 'trustward') {
    if (env.PATH?.split(delimiter).includes(place)) return 'trustward';
    if (place.endsWith('/node_modules/.bin')) return 'npx trustward';
    return shellWord(program);
  }
  const near = relative(folder, program);
  return `node ${shellWord(near.startsWith('..') ? program : near)}`;
}

/** Of this process. main.ts sets the command; in tests and for the library it stays. `organization`: what `--org` names, if it is given. */
export const invocation: { command: string; organization: string | undefined } = {
  command: 'trustward',
  organization: undefined,
};

/** Commands that take `--org`. */
export const OF_ORGANIZATION: readonly string[] = [
  ...['run', 'plan', 'approve', 'reject', 'apply', 'why', 'report', 'plans', 'summary', 'runs', 'decisions', 'replay'],
  ...[
    'exempt add',
    'exempt list',
    'exempt confirm',
    'exempt end',
    'stop',
    'resume',
    'snapshot accept',
    'intents list',
    'intents resolve',
  ],
  ...['notifications', 'claims list', 'claims release', 'open', 'tokens add', 'tokens list', 'tokens revoke', 'doctor'],
  ...['db backup', 'db restore', 'db move', 'audit list', 'audit verify', 'audit export', 'audit archive'],
  ...[
    'audit accept-tables',
    'audit accept-restore',
    'audit new-key',
    'history list',
    'history verify',
    'history forget',
  ],
  ...['rules check', 'rules test', 'rules evidence', 'rules list', 'rules diff', 'explain', 'facts'],
];

// A command begins a line, follows a backtick, or follows another one. A border of a table would move.
const COMMAND = /(^ *|`|; |Usage: )trustward (?=[a-z[-]|COMMAND)/g;

// A text may be broken into lines already.
const PATHS = [...OF_ORGANIZATION].map((path) => path.replace(' ', '\\s+')).join('|');
const ABOUT_ONE = new RegExp(`(^ *|\`|; )trustward\\s+(?:${PATHS})(?![\\w-])`, 'gm');

export function asInvoked(text: string): string {
  const { command } = invocation;
  const named = withOrganization(text);
  if (command === 'trustward') return named;
  const lines = named.split('\n').map((line) => (line.includes('│') ? line : line.replace(COMMAND, `$1${command} `)));
  return lines.join('\n');
}

/** Whoever named an organization has several, or may: the next command needs its name, too. */
function withOrganization(text: string): string {
  const { organization } = invocation;
  if (organization === undefined || !isOrganizationId(organization)) return text;
  return text.replace(ABOUT_ONE, (found, opening: string, at: number) => {
    const end = at + found.length;
    const isInTable = lineAt(text, end).includes('│');
    const rest = opening === '`' ? text.slice(end, text.indexOf('`', end)) : text.slice(end).split('\n')[0];
    return isInTable || /--(org|all-organizations)\b/.test(rest ?? '') ? found : `${found} --org ${organization}`;
  });
}

function lineAt(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1).split('\n')[0] ?? '';
}
