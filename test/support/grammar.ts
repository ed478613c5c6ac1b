// support: the whole grammar of the command line, bound to nothing. In: a command line of a text. Out: the command that it names, or what is wrong
// with it; nothing runs.
import { Command, CommanderError } from 'commander';
import { groupsFor } from '../../src/faces/cli/grammar/groups.ts';
import type { Io } from '../../src/faces/cli/io.ts';

/** `ran` gets the path of a command instead of running it. */
export async function grammar(ran: (path: string) => void): Promise<Command> {
  const program = new Command('trustward');
  const bind =
    () =>
    async (...values: unknown[]) =>
      ran(pathOf(values.at(-1) as Command));
  for (const add of await groupsFor(undefined)) add(program, {} as Io, bind);
  const quiet = { writeOut: () => undefined, writeErr: () => undefined };
  for (const command of allCommands(program)) command.exitOverride().configureOutput(quiet);
  return program;
}

export function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** As a shell does, for words, and texts in quotes. */
export function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([found]) => found.replace(/['"]/g, ''));
}

/** What the grammar refuses in a command line without its first word; undefined: nothing. Help and version are asked for in texts, too. */
export async function mistakeIn(args: readonly string[]): Promise<string | undefined> {
  try {
    await (await grammar(() => undefined)).version('0').exitOverride().parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return (error as Error).message;
  }
}
