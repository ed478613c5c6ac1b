// test: the examples that end the help of each command. In: the grammar of all groups, bound to nothing. Out: tests; nothing runs.
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { groupsFor } from '../../../src/faces/cli/grammar/groups.ts';
import { type Io, OF_ORGANIZATION } from '../../../src/faces/cli/io.ts';

/** The whole grammar; `ran` gets the path of a command instead of running it. */
async function grammar(ran: (path: string) => void): Promise<Command> {
  const program = new Command('trustward');
  const bind =
    () =>
    async (...values: unknown[]) =>
      ran(pathOf(values.at(-1) as Command));
  for (const add of await groupsFor(undefined)) add(program, {} as Io, bind);
  for (const command of allCommands(program)) command.exitOverride();
  return program;
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

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

/** As a shell does, for words, and texts in quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((found) => (found[1] ?? found[2] ?? found[3]) as string);
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
});
