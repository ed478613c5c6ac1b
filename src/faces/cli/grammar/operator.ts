// cli: the grammar of the operator commands, and of the lists that they need. Names, options and help of an operation are its entry's.
import type { Command } from 'commander';
import { DOUBTS, EXEMPTIONS, SWITCHES } from '../../../contract/operator.ts';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { commandOf, databaseOption, engineOptions, outputOptions, paged } from './options.ts';

export function addOperatorCommands(program: Command, io: Io, bind: Bind): void {
  const acting = (command: Command) => outputOptions(engineOptions(command), 'text, json');
  const reading = (command: Command) => outputOptions(databaseOption(command), 'text, json');
  const commands = () => import('../operator.ts');
  const lists = () => import('../operator-lists.ts');

  const exempt = program
    .command('exempt')
    .description('what rules leave alone for a time')
    .addHelpText(...examples('# what is left alone now', 'trustward exempt list'));
  commandOf(exempt, EXEMPTIONS.addExemption, acting).action(
    bind(async (kind: never, name: never, options: never) =>
      (await commands()).exemptAddCommand(io, kind, name, options),
    ),
  );
  paged(reading(exempt.command('list').description('exemptions in force')))
    .option('--all', 'include ended ones')
    .addHelpText(...examples('# also those that have ended', 'trustward exempt list --all'))
    .action(bind(async (options: never) => (await lists()).exemptListCommand(io, options)));
  commandOf(exempt, EXEMPTIONS.endExemption, acting).action(
    bind(async (id: never, options: never) => (await commands()).exemptEndCommand(io, id, options)),
  );
  commandOf(exempt, EXEMPTIONS.confirmExemption, acting).action(
    bind(async (id: never, options: never) => (await commands()).exemptConfirmCommand(io, id, options)),
  );

  commandOf(program, SWITCHES.stop, acting).action(
    bind(async (options: never) => (await commands()).stopCommand(io, options)),
  );
  commandOf(program, SWITCHES.resume, acting).action(
    bind(async (options: never) => (await commands()).resumeCommand(io, options)),
  );
  const snapshot = program
    .command('snapshot')
    .description('readings of the sources')
    .addHelpText(
      ...examples('# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'),
    );
  commandOf(snapshot, SWITCHES.acceptSnapshot, acting).action(
    bind(async (source: never, options: never) => (await commands()).acceptCommand(io, source, options)),
  );

  const intents = program
    .command('intents')
    .description('actions that were planned or attempted')
    .addHelpText(...examples('# what waits for a person', 'trustward intents list'));
  reading(intents.command('list').description('intents that failed, are in doubt, or are parked'))
    .option('--state <state>', 'only this state or outcome')
    .addHelpText(
      ...examples(
        '# what waits for a person',
        'trustward intents list',
        '# all that were done',
        'trustward intents list --state succeeded',
      ),
    )
    .action(bind(async (options: never) => (await lists()).intentListCommand(io, options)));
  commandOf(intents, DOUBTS.resolveIntent, acting).action(
    bind(async (id: never, options: never) => (await commands()).intentResolveCommand(io, id, options)),
  );

  reading(program.command('notifications').description('notifications that were not delivered: waiting or given up'))
    .option('--all', 'include delivered ones')
    .option('--limit <n>', 'at most this many', '50')
    .addHelpText(
      ...examples(
        '# what has not arrived yet',
        'trustward notifications',
        '# the last ten, delivered ones included',
        'trustward notifications --all --limit 10',
      ),
    )
    .action(bind(async (options: never) => (await lists()).notificationListCommand(io, options)));

  const claims = program
    .command('claims')
    .description('actions that are still in force')
    .addHelpText(...examples('# what Trustward did that is still so', 'trustward claims list'));
  paged(reading(claims.command('list').description('open and orphaned claims')))
    .option('--all', 'include ended ones')
    .addHelpText(...examples('# for a script', 'trustward claims list --format json'))
    .action(bind(async (options: never) => (await lists()).claimListCommand(io, options)));
  commandOf(claims, DOUBTS.releaseClaims, acting).action(
    bind(async (target: never, options: never) => (await commands()).claimReleaseCommand(io, target, options)),
  );
}
