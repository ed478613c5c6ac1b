// commands: commands in texts for people, as this process was started: a person can copy them. Every text of the source names a
// command as `trustward …`; only what a person reads on this screen is rewritten, here. JSON, Markdown and files stay as they are.
import { basename, delimiter, dirname, relative } from 'node:path';
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

/** Of this process. main.ts sets it; in tests and for the library it stays. */
export const invocation = { command: 'trustward' };

// A command begins a line, follows a backtick, or follows another one. A border of a table would move.
const COMMAND = /(^ *|`|; |Usage: )trustward (?=[a-z[-]|COMMAND)/g;

export function asInvoked(text: string): string {
  const { command } = invocation;
  if (command === 'trustward') return text;
  const lines = text.split('\n').map((line) => (line.includes('│') ? line : line.replace(COMMAND, `$1${command} `)));
  return lines.join('\n');
}
