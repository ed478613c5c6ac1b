// test: the examples that end the help of each command. In: the grammar of all groups, bound to nothing. Out: tests; nothing runs.
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { OF_ORGANIZATION } from '../../../src/faces/cli/io.ts';
import { allCommands, grammar, pathOf, words } from '../../support/grammar.ts';
import { notSaid } from '../../support/words.ts';

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

/** Command lines after `Example:` or `Examples:`; each stands under a comment. */
function examplesIn(help: string): string[] {
  const [, block = ''] = help.split(/^Examples?:\n/m);
  const lines = block.trimEnd().split('\n').filter(Boolean);
  const pairs = lines.map((line, index) => (index % 2 === 0 ? /^ {2}# \S/ : /^ {2}trustward \S/).test(line));
  if (pairs.includes(false) || pairs.length % 2 === 1) throw new Error(`a comment, then a command: ${block}`);
  return lines.filter((_, index) => index % 2 === 1).map((line) => line.trim());
}

const commands = allCommands(await grammar(() => undefined)).slice(1);

it('the commands that take --org are those that texts name with it', () => {
  const taking = commands.filter(({ options }) => options.some(({ long }) => long === '--org'));
  const paths = taking.map((command) => pathOf(command).replace(/^trustward /, ''));
  expect([...OF_ORGANIZATION].sort()).toEqual(paths.sort());
});

describe('the help of every command', () => {
  it('ends with one to three examples', () => {
    const without = commands.filter((command) => {
      const { length } = examplesIn(helpOf(command));
      return length < 1 || length > 3;
    });
    expect(without.map(pathOf)).toEqual([]);
  });

  it('has examples that the grammar accepts, of that command', async () => {
    for (const command of commands) {
      for (const line of examplesIn(helpOf(command))) {
        const ran: string[] = [];
        await (await grammar((path) => ran.push(path))).parseAsync(words(line).slice(1), { from: 'user' });
        expect(ran, line).toEqual([expect.stringMatching(new RegExp(`^${pathOf(command)}( |$)`))]);
      }
    }
  });

  it('has only words of the glossary', () => {
    const texts = commands.map((command) => [pathOf(command), notSaid(wordsOfHelp(command))] as const);
    expect(texts.filter(([, found]) => found.length > 0)).toEqual([]);
  });
});

/** What people read of it besides names of commands and options, and examples. */
function wordsOfHelp(command: Command): string {
  const { options, registeredArguments } = command;
  const [, ...more] = helpOf(command).split(/\n\n/);
  const comments = more.join('\n').match(/^ {2}# .*$/gm) ?? [];
  return [
    command.description(),
    ...options.map(({ description }) => description),
    ...registeredArguments.map(({ description }) => description),
    ...comments,
  ].join('\n');
}
