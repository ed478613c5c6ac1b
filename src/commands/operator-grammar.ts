// commands: the grammar of the operator commands: names, options and their help, each bound to its command.
import type { Command } from 'commander';
import type { Io } from './io.ts';
import {
  acceptCommand,
  claimReleaseCommand,
  exemptAddCommand,
  exemptEndCommand,
  intentResolveCommand,
  resumeCommand,
  stopCommand,
} from './operator.ts';
import { claimListCommand, exemptListCommand, intentListCommand, notificationListCommand } from './operator-lists.ts';

type Bind = (action: (...args: never[]) => Promise<number>) => (...values: unknown[]) => Promise<void>;

/** Shared by commands: adding the options of an engine, of a database, and of a result. */
export interface SharedOptions {
  engine(command: Command): Command;
  database(command: Command): Command;
  output(command: Command, formats: string): Command;
}

export function addOperatorCommands(program: Command, io: Io, bind: Bind, shared: SharedOptions): void {
  const acting = (command: Command) => shared.output(shared.engine(command), 'text, json');
  const reading = (command: Command) => shared.output(shared.database(command), 'text, json');
  const withReason = (command: Command) => acting(command).requiredOption('--reason <text>', 'why, for the audit');

  const exempt = program.command('exempt').description('what rules leave alone for a time');
  withReason(exempt.command('add [kind] [id]').description('leave one subject, or every subject of a selector, alone'))
    .option('--selector <field=value>', 'instead of kind and id, such as SerialNumber=C02… or Groups=Staff')
    .requiredOption('--owner <who>', 'who is responsible for it')
    .requiredOption('--until <when>', 'a duration such as 30d, or a date (UTC)')
    .option('--release', 'also undo what is in force on it')
    .action(bind((kind: never, id: never, options: never) => exemptAddCommand(io, kind, id, options)));
  reading(exempt.command('list').description('exemptions in force'))
    .option('--all', 'include ended ones')
    .action(bind((options: never) => exemptListCommand(io, options)));
  withReason(exempt.command('end <id>').description('end an exemption early')).action(
    bind((id: never, options: never) => exemptEndCommand(io, id, options)),
  );

  withReason(program.command('stop').description('stop all calls, from the next one on')).action(
    bind((options: never) => stopCommand(io, options)),
  );
  withReason(program.command('resume').description('act again after a stop')).action(
    bind((options: never) => resumeCommand(io, options)),
  );

  const snapshot = program.command('snapshot').description('readings of the sources');
  withReason(
    snapshot.command('accept <source>').description('accept an untrusted reading as the new baseline (devices, …)'),
  ).action(bind((source: never, options: never) => acceptCommand(io, source, options)));

  const intents = program.command('intents').description('actions that were planned or attempted');
  reading(intents.command('list').description('intents in doubt or parked'))
    .option('--state <state>', 'only this state or outcome')
    .action(bind((options: never) => intentListCommand(io, options)));
  withReason(
    intents
      .command('resolve <id>')
      .description('record what an intent in doubt or parked did (by id or its beginning), or retry it'),
  )
    .requiredOption('--as <done|not-done|retry>', 'what it did')
    .action(bind((id: never, options: never) => intentResolveCommand(io, id, options)));

  reading(program.command('notifications').description('notifications that were not delivered: waiting or given up'))
    .option('--all', 'include delivered ones')
    .option('--limit <n>', 'at most this many', '50')
    .action(bind((options: never) => notificationListCommand(io, options)));

  const claims = program.command('claims').description('actions that are still in force');
  reading(claims.command('list').description('open and orphaned claims'))
    .option('--all', 'include ended ones')
    .action(bind((options: never) => claimListCommand(io, options)));
  acting(
    claims.command('release [target]').description('undo now what is in force on a target, or plan the undo of a rule'),
  )
    .option('--rule <id>', 'instead of a target: a plan that undoes all that this rule has in force')
    .option('--reason <text>', 'why, for the audit; required with a target')
    .action(bind((target: never, options: never) => claimReleaseCommand(io, target, options)));
}
