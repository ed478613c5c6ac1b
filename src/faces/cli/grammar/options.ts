// cli: options that several commands share, with their help.
import { type Command, Option } from 'commander';
import type { CommandWords, Entry } from '../../../contract/operation.ts';
import { MODES } from '../../../domain/rule.ts';
import { examples } from './examples.ts';

const DATABASE = ['--db <file>', 'the database (TRUSTWARD_DB)'] as const;
export const ORGANIZATION = ['--org <id>', 'the organization, with PostgreSQL (TRUSTWARD_ORGANIZATIONS)'] as const;

export function engineOptions(command: Command): Command {
  return callingOptions(databaseOption(command));
}

/** Of the process that serves all: it is about no single organization. */
export function serveOptions(command: Command): Command {
  return callingOptions(command.option(...DATABASE));
}

function callingOptions(command: Command): Command {
  return command
    .option('--api-url <url>', 'base address of the Management API (TRUSTWARD_API_URL)')
    .addOption(rulesOption());
}

export function concurrencyOption(): Option {
  return new Option('--act-concurrency <count>', 'targets acted on at once (TRUSTWARD_ACT_CONCURRENCY)');
}

export function databaseOption(command: Command): Command {
  return command.option(...DATABASE).option(...ORGANIZATION);
}

export function rulesOption(): Option {
  return new Option('--rules <folder>', 'the rules folder, or several as in PATH (TRUSTWARD_RULES)');
}

export function modeOption(text: string): Option {
  return new Option('--mode <mode>', text).choices(MODES.filter((mode) => mode !== 'off'));
}

export function sinceOption(): Option {
  return new Option('--since <when>', 'a duration back from now such as 12h, or a date (UTC)');
}

/** Of a list, newest first. */
export function paged(command: Command): Command {
  return command
    .option('--limit <n>', 'at most this many', '1000')
    .option('--before <id>', 'those that follow this one: `next` of the page before');
}

export function outputOptions(command: Command, formats: string): Command {
  return command
    .option('--format <format>', formats)
    .option('--out <file>', 'write there instead of to standard output');
}

/** A command of an entry: its arguments, and its options after those that all of its kind have. `within`: the group whose first word its line has. */
export function commandOf(within: Command, { command }: Entry, common: (made: Command) => Command): Command {
  const { line, summary, options = [], examples: lines } = command as CommandWords;
  const own = line.slice(line.startsWith(`${within.name()} `) ? within.name().length + 1 : 0);
  const made = common(within.command(own).description(summary));
  for (const { flag, text, isRequired, byDefault, choices } of options) {
    const option = new Option(flag, text).makeOptionMandatory(isRequired === true);
    if (byDefault !== undefined) option.default(byDefault);
    made.addOption(choices ? option.choices(choices) : option);
  }
  return made.addHelpText(...examples(...lines));
}
