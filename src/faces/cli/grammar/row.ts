// cli: a command of the grammar is a row: its line, its options and their help, and what carries it out. In: the rows of a group. Out: the commands
// of a program. INVARIANT: a row imports its command only inside of `load` (`await import`), so that a command loads its own modules and no other's.
import { type Command, Option } from 'commander';
import { COMMANDS, type CommandId, type CommandWords, type OptionWords } from '../../../contract/commands.ts';
import { AppError } from '../../../domain/errors.ts';
import { MODES } from '../../../domain/rule.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import { listed } from '../../report/fact-text.ts';
import type { Io } from '../io.ts';

type Carried = (io: Io, ...given: never[]) => Promise<number>;

export interface Row extends CommandWords {
  /** What its first argument is, for the help. */
  argument?: string;
  /** Help between the options and the examples. */
  more?: string;
  /** Its arguments are followed by the options. Without it, the row is a group of those after it. */
  load?(): Promise<Carried>;
}

/** Makes an action of a function from arguments and options to an exit code. */
export type Bind = (action: (...args: never[]) => Promise<number>) => (...values: unknown[]) => Promise<void>;

/** Each row belongs to the row whose names begin its line. */
export function addRows(program: Command, rows: readonly Row[], io: Io, bind: Bind): void {
  for (const { line, argument, summary, options = [], ways = [], examples, more, load } of rows) {
    const made = within(program, line).description(summary);
    if (argument !== undefined) for (const one of made.registeredArguments.slice(0, 1)) one.description = argument;
    for (const option of options) made.addOption(optionOf(option));
    NEEDED.set(made, { flags: options.flatMap(({ flag, isRequired }) => (isRequired ? [flag] : [])), ways });
    if (more !== undefined) made.addHelpText('after', more);
    // A test parses each example, and names every command without one.
    const title = examples.length > 2 ? 'Examples:' : 'Example:';
    made.addHelpText('after', ['', title, ...examples.map((text) => `  ${text}`)].join('\n'));
    if (!load) continue;
    const action = async (...values: never[]) => {
      const command = values.at(-1) as unknown as Command;
      const missing = missingText(command);
      if (missing !== undefined)
        throw new AppError('usage', `${missing}; \`trustward ${pathOf(command)} --help\` shows what it takes`);
      return (await load())(io, ...values.slice(0, -2), command.optsWithGlobals() as never);
    };
    made.action(bind(action));
  }
}

/** A command is asked for all that it lacks at once: the parser of arguments would name one after the other. */
const NEEDED = new WeakMap<Command, { flags: readonly string[]; ways: NonNullable<CommandWords['ways']> }>();

/** `exempt add needs --reason <text> and --until <when>`; undefined: it has all. */
export function missingText(command: Command): string | undefined {
  const { flags, ways } = NEEDED.get(command) ?? { flags: [], ways: [] };
  const lacks = (part: string) => !isGiven(command, part);
  const [chosen, another] = ways.filter(([first]) => !lacks(first));
  if (chosen && another) return `${pathOf(command)} takes ${chosen[0]} or ${another[0]}, one of the two`;
  const args = command.registeredArguments.filter(({ required }) => required).map((one) => `<${one.name()}>`);
  const open = chosen ? [] : ways.map((way) => listed(way.filter(lacks)));
  const oneOf = open.join(open.some((way) => way.includes(' and ')) ? ', or ' : ' or ');
  const missing = [...args, ...(chosen ?? []), ...flags].filter(lacks);
  const all = oneOf === '' ? missing : [oneOf, ...missing];
  return all.length === 0 ? undefined : `${pathOf(command)} needs ${listed(all)}`;
}

/** `part`: `<target>` or `--rule <id>`. A kind that stands alone is no name. */
function isGiven(command: Command, part: string): boolean {
  const { args, registeredArguments } = command;
  if (part.startsWith('--')) return command.opts()[optionNamed(part)] !== undefined;
  const names = registeredArguments.map((one) => `<${one.name()}>`);
  if (names[0] === '<kind>' && args.length === 1) return !SUBJECT_KINDS.some((kind) => kind === args[0]);
  return args[names.indexOf(part)] !== undefined;
}

function optionNamed(flag: string): string {
  return new Option(flag).attributeName();
}

/** `exempt add`. */
export function pathOf(command: Command): string {
  const above = command.parent;
  return above?.parent ? `${pathOf(above)} ${command.name()}` : command.name();
}

function within(program: Command, line: string): Command {
  const [first = '', ...rest] = line.split(' ');
  const group = program.commands.find((one) => one.name() === first);
  return group ? within(group, rest.join(' ')) : program.command(line);
}

function optionOf({ flag, text, isRequired, byDefault, choices }: OptionWords): Option {
  const option = new Option(flag, isRequired ? `${text} (required)` : text);
  if (byDefault !== undefined) option.default(byDefault);
  return choices ? option.choices(choices) : option;
}

/** The row of an operation: its options follow those that all of its kind have. */
export function operation(id: CommandId, common: readonly OptionWords[], load: () => Promise<Carried>): Row {
  const words = COMMANDS[id] as CommandWords;
  return { ...words, options: [...common, ...(words.options ?? [])], load };
}

// Options that several commands share.

const FILE: OptionWords = { flag: '--db <file>', text: 'the database (TRUSTWARD_DB)' };
export const ORGANIZATION: OptionWords = {
  flag: '--org <id>',
  text: 'the organization, with PostgreSQL (TRUSTWARD_ORGANIZATIONS)',
};
export const API_URL: OptionWords = {
  flag: '--api-url <url>',
  text: 'base address of the Management API (TRUSTWARD_API_URL)',
};
export const RULES: OptionWords = {
  flag: '--rules <folder>',
  text: 'the rules folder, or several as in PATH (TRUSTWARD_RULES)',
};
export const ENDPOINT: OptionWords = {
  flag: '--endpoint <url>',
  text: 'an endpoint on another machine instead, with your rights there (TRUSTWARD_ENDPOINT)',
};
export const DATABASE = [FILE, ENDPOINT, ORGANIZATION];
export const ENGINE = [...DATABASE, API_URL, RULES];
/** Of the process that serves all: it is about no single organization. */
export const SERVE = [FILE, API_URL, RULES];
export const ACT_CONCURRENCY: OptionWords = {
  flag: '--act-concurrency <count>',
  text: 'targets acted on at once (TRUSTWARD_ACT_CONCURRENCY)',
};
export const SINCE: OptionWords = {
  flag: '--since <when>',
  text: 'a duration back from now such as 12h, or a date (UTC)',
};

// Of replays.
export const UNTIL: OptionWords = {
  flag: '--until <when>',
  text: 'up to then: a duration back from now, or a date (UTC); now by default',
};
export const EVERY: OptionWords = {
  flag: '--every <duration>',
  text: 'decide at most one whole run in this time, such as 1h: faster, less exact',
};

export function mode(text: string): OptionWords {
  return { flag: '--mode <mode>', text, choices: MODES.filter((one) => one !== 'off') };
}

export function limit(byDefault: string): OptionWords {
  return { flag: '--limit <n>', text: 'at most this many', byDefault };
}

/** Of a list, newest first. */
export const PAGED: readonly OptionWords[] = [
  limit('1000'),
  { flag: '--before <id>', text: 'those that follow this one: `next` of the page before' },
];

export function output(formats: string): OptionWords[] {
  const isChoice = formats.includes(',');
  return [
    { flag: '--format <format>', text: formats },
    {
      flag: '--out <file>',
      text: `write there instead of to standard output${isChoice ? ', in the format of its ending' : ''}`,
    },
  ];
}

/** Of a list: one line a row. */
export function lines(formats: string): OptionWords[] {
  return [...output(formats), { flag: '--wide', text: 'whole lines, however narrow the terminal is' }];
}
