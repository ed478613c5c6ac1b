// commands: the grammar of the operator commands, and of the lists that they need: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { databaseOption, engineOptions, outputOptions } from './options.ts';

export function addOperatorCommands(program: Command, io: Io, bind: Bind): void {
  const acting = (command: Command) => outputOptions(engineOptions(command), 'text, json');
  const reading = (command: Command) => outputOptions(databaseOption(command), 'text, json');
  const withReason = (command: Command) => acting(command).requiredOption('--reason <text>', 'why, for the audit');

  const exempt = program.command('exempt').description('what rules leave alone for a time');
  withReason(
    exempt.command('add [kind] [name]').description('leave one subject, or every subject of a selector, alone'),
  )
    .option('--selector <field=value>', 'instead of a name, such as SerialNumber=C02… or Groups=Staff')
    .requiredOption('--owner <who>', 'who is responsible for it')
    .requiredOption('--until <when>', 'a duration such as 30d, or a date (UTC)')
    .option('--unseen', 'it is meant, though no trusted snapshot has shown it')
    .option('--release', 'also undo what is in force on it')
    .action(
      bind(async (kind: never, name: never, options: never) =>
        (await import('../operator.ts')).exemptAddCommand(io, kind, name, options),
      ),
    );
  reading(exempt.command('list').description('exemptions in force'))
    .option('--all', 'include ended ones')
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).exemptListCommand(io, options)));
  withReason(exempt.command('end <id>').description('end an exemption early')).action(
    bind(async (id: never, options: never) => (await import('../operator.ts')).exemptEndCommand(io, id, options)),
  );

  withReason(program.command('stop').description('stop all calls, from the next one on')).action(
    bind(async (options: never) => (await import('../operator.ts')).stopCommand(io, options)),
  );
  withReason(program.command('resume').description('act again after a stop')).action(
    bind(async (options: never) => (await import('../operator.ts')).resumeCommand(io, options)),
  );

  const snapshot = program.command('snapshot').description('readings of the sources');
  withReason(
    snapshot.command('accept <source>').description('accept an untrusted reading as the new baseline (devices, …)'),
  ).action(
    bind(async (source: never, options: never) => (await import('../operator.ts')).acceptCommand(io, source, options)),
  );

  const intents = program.command('intents').description('actions that were planned or attempted');
  reading(intents.command('list').description('intents in doubt or parked'))
    .option('--state <state>', 'only this state or outcome')
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).intentListCommand(io, options)));
  withReason(
    intents
      .command('resolve <id>')
      .description('record what an intent in doubt or parked did (by id or its beginning), or retry it'),
  )
    .requiredOption('--as <done|not-done|retry>', 'what it did')
    .action(
      bind(async (id: never, options: never) => (await import('../operator.ts')).intentResolveCommand(io, id, options)),
    );

  reading(program.command('notifications').description('notifications that were not delivered: waiting or given up'))
    .option('--all', 'include delivered ones')
    .option('--limit <n>', 'at most this many', '50')
    .action(
      bind(async (options: never) => (await import('../operator-lists.ts')).notificationListCommand(io, options)),
    );

  const claims = program.command('claims').description('actions that are still in force');
  reading(claims.command('list').description('open and orphaned claims'))
    .option('--all', 'include ended ones')
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).claimListCommand(io, options)));
  acting(
    claims.command('release [target]').description('undo now what is in force on a target, or plan the undo of a rule'),
  )
    .option('--rule <id>', 'instead of a target: a plan that undoes all that this rule has in force')
    .option('--reason <text>', 'why, for the audit; required with a target')
    .action(
      bind(async (target: never, options: never) =>
        (await import('../operator.ts')).claimReleaseCommand(io, target, options),
      ),
    );
}
