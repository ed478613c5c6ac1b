// cli: the command line as a whole: its grammar (a file a group, in grammar/), and what it answers to a wrong one. In:
// arguments. Out: an exit code. It loads no command but the one that runs.
import { Command, CommanderError } from 'commander';
import { AppError } from '../../domain/errors.ts';
import { versionOf } from '../../runtime/system/process.ts';
import { groupsFor, HELP_GROUPS } from './grammar/groups.ts';
import { type Bind, missingText, pathOf } from './grammar/row.ts';
import { asInvoked, type Io, invocation, leaveOutRules, settingsOf, withoutUnseen } from './io.ts';

/** Returns a function from arguments to an exit code. Errors: AppError `usage` for what the grammar refuses. */
export function buildProgram(io: Io): (args: string[]) => Promise<number> {
  return async (args) => {
    let code = 0;
    const bind: Bind =
      (action) =>
      async (...values: unknown[]) => {
        code = await (action as (...all: unknown[]) => Promise<number>)(...values);
      };
    if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
      io.out(`${versionOf()}\n`);
      return 0; // without the grammar
    }
    const program = await grammar(withoutUnseen(io), bind, args[0]);
    try {
      await program.parseAsync(args, { from: 'user' });
      return code;
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode === 0) return 0; // help and version
      if (error.code === 'commander.help') return 2; // no command given: help was shown, on standard error
      throw new AppError('usage', mistakeOf(program, args, error));
    }
  };
}

/** In one line, with the help that has the answer: of the command that the arguments name, or of all. */
function mistakeOf(program: Command, args: readonly string[], { code, message }: CommanderError): string {
  const asked = args[0] ?? '';
  const instead = Object.hasOwn(INSTEAD, asked) ? INSTEAD[asked] : undefined;
  if (code === 'commander.unknownCommand' && instead !== undefined)
    return `there is no command \`${asked}\`: ${instead}`;
  const command = commandOf(program, args);
  const mistake =
    (code === 'commander.missingArgument' ? missingText(command) : undefined) ??
    message.replace(/^error: |\.$/g, '').replace(/\s*\n\s*/g, ' ');
  if (command === program) return `${mistake}; \`trustward --help\` lists the commands`;
  return `${mistake}; \`trustward ${pathOf(command)} --help\` shows what it takes`;
}

const RELEASE =
  '`trustward claims release TARGET --reason TEXT` undoes what Trustward did to a device, user or service';

/** Words that people try, and what does what they want. */
const INSTEAD: Readonly<Record<string, string | undefined>> = {
  ban: 'rules ban devices; `trustward plan` shows whom, and `trustward approve PLAN` says yes',
  unban: RELEASE,
  undo: RELEASE,
  release: RELEASE,
  status:
    '`trustward inbox` lists what waits for you, `trustward summary` what happened, and `trustward doctor` checks this installation',
};

function commandOf(program: Command, args: readonly string[]): Command {
  let found = program;
  for (const arg of args) {
    const child = found.commands.find((one) => one.name() === arg);
    if (child === undefined) return found;
    found = child;
  }
  return found;
}

const AFTERWORD = `
Exit codes:
  0  done; a dry run that could be done, whatever it found
  1  failed
  2  wrong usage, configuration or rules
  3  done in mode approve or enforce, but something waits for a person or a
     source was untrusted

Start with a run that changes nothing: \`trustward run --mode dry-run\`.
Without TRUSTWARD_API_URL an embedded, made-up organization is used.
\`trustward COMMAND --help\` lists a command's options, with examples;
docs/configuration.md lists every setting.`;

/** The caller reports mistakes in one line; only unrequested help goes to standard error here. */
function outputTo(io: Io) {
  const width = () => process.stdout.columns ?? 100;
  return {
    writeOut: (text: string) => io.out(asInvoked(text)),
    writeErr: io.err,
    outputError: () => undefined,
    getOutHelpWidth: width,
    getErrHelpWidth: width,
  };
}

/** Their `--db` is not the database of the next command: it is named in it, where it matters. `init` writes its own into the environment file. */
const HAS_OTHER_DATABASE: ReadonlySet<string> = new Set(['console', 'db', 'init']);
const TRIES_RULES: ReadonlySet<string> = new Set(['rules', 'replay']);

const HELP_ORDER = HELP_GROUPS.flatMap(([, names]) => names);

async function grammar(io: Io, bind: Bind, first: string | undefined): Promise<Command> {
  const program = new Command('trustward')
    .description('Reads trust data of devices, users and services, judges it by rules, and acts.')
    .version(versionOf())
    .exitOverride()
    .configureOutput(outputTo(io))
    .showHelpAfterError(false)
    .showSuggestionAfterError(true);
  for (const add of await groupsFor(first)) add(program, io, bind);
  for (const [title, names] of HELP_GROUPS)
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(title);
  const rank = (command: Command) => HELP_ORDER.indexOf(command.name());
  (program.commands as Command[]).sort((one, other) => rank(one) - rank(other));
  program.hook('preAction', (_, command) => {
    const [group = ''] = pathOf(command).split(' ');
    invocation.organization = command.opts().org;
    invocation.settings = HAS_OTHER_DATABASE.has(group) ? [] : settingsOf(io.env, command.opts());
    if (TRIES_RULES.has(group)) leaveOutRules();
  });
  for (const group of program.commands.filter(({ commands }) => commands.length > 0))
    group.description(`${group.description()}: ${group.commands.map((child) => child.name()).join(', ')}`);
  program.addHelpText('after', AFTERWORD);
  for (const command of allCommands(program)) command.exitOverride().configureOutput(outputTo(io));
  return program;
}

function allCommands(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...allCommands(child)]);
}
