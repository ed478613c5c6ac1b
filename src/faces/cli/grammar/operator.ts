// cli: the grammar of the operator commands, and of the lists that they need: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { databaseOption, engineOptions, outputOptions, paged } from './options.ts';

export function addOperatorCommands(program: Command, io: Io, bind: Bind): void {
  const acting = (command: Command) => outputOptions(engineOptions(command), 'text, json');
  const reading = (command: Command) => outputOptions(databaseOption(command), 'text, json');
  const withReason = (command: Command) => acting(command).requiredOption('--reason <text>', 'why, for the audit');

  const exempt = program
    .command('exempt')
    .description('what rules leave alone for a time')
    .addHelpText(...examples('# what is left alone now', 'trustward exempt list'));
  withReason(
    exempt.command('add [kind] [name]').description('leave one subject, or every subject of a selector, alone'),
  )
    .option('--selector <field=value>', 'instead of a name, such as SerialNumber=C02… or Groups=Staff')
    .requiredOption('--owner <who>', 'who is responsible for it')
    .requiredOption('--until <when>', 'a duration such as 30d, or a date (UTC)')
    .option('--unseen', 'it is meant, though no trusted snapshot has shown it')
    .option('--release', 'also undo what is in force on it')
    .option('--accept-forgeable', 'accept a selector of what devices report themselves: their name, platform or model')
    .addHelpText(
      ...examples(
        '# one device, by its serial number',
        'trustward exempt add C02MQHAHEA --owner "Ana Ruiz" --reason "on a ship until May" --until 30d',
        '# every device of a group of people',
        'trustward exempt add --selector Groups=Board --owner CISO --reason travel --until 2027-01-31',
      ),
    )
    .action(
      bind(async (kind: never, name: never, options: never) =>
        (await import('../operator.ts')).exemptAddCommand(io, kind, name, options),
      ),
    );
  paged(reading(exempt.command('list').description('exemptions in force')))
    .option('--all', 'include ended ones')
    .addHelpText(...examples('# also those that have ended', 'trustward exempt list --all'))
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).exemptListCommand(io, options)));
  withReason(exempt.command('end <id>').description('end an exemption early'))
    .addHelpText(
      ...examples(
        '# by the beginning of the id in `trustward exempt list`',
        'trustward exempt end 01m7ysaj --reason "back in the office"',
      ),
    )
    .action(
      bind(async (id: never, options: never) => (await import('../operator.ts')).exemptEndCommand(io, id, options)),
    );

  withReason(exempt.command('confirm <id>').description('say yes to what joined an exemption after it was made'))
    .option('--subject <id>', 'only this one of those that wait: its id or serial number')
    .addHelpText(
      ...examples(
        '# the new laptop of an exempt person',
        'trustward exempt confirm 01m7ysaj --subject C02NEW --reason "Ana got it today"',
      ),
    )
    .action(
      bind(async (id: never, options: never) => (await import('../operator.ts')).exemptConfirmCommand(io, id, options)),
    );

  withReason(program.command('stop').description('stop all calls, from the next one on'))
    .addHelpText(
      ...examples('# at once, also while a daemon runs', 'trustward stop --reason "too many devices are banned"'),
    )
    .action(bind(async (options: never) => (await import('../operator.ts')).stopCommand(io, options)));
  withReason(program.command('resume').description('act again after a stop'))
    .addHelpText(
      ...examples('# after a dry run has shown what comes', 'trustward resume --reason "the rule is corrected"'),
    )
    .action(bind(async (options: never) => (await import('../operator.ts')).resumeCommand(io, options)));

  const snapshot = program
    .command('snapshot')
    .description('readings of the sources')
    .addHelpText(
      ...examples('# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'),
    );
  withReason(
    snapshot.command('accept <source>').description('accept an untrusted reading as the new baseline (devices, …)'),
  )
    .addHelpText(
      ...examples('# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'),
    )
    .action(
      bind(async (source: never, options: never) =>
        (await import('../operator.ts')).acceptCommand(io, source, options),
      ),
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
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).intentListCommand(io, options)));
  withReason(
    intents
      .command('resolve <id>')
      .description('record what an intent in doubt or parked did (by id or its beginning), retry it, or give it up'),
  )
    .requiredOption('--as <done|not-done|retry>', 'what it did, or retry; not-done gives up what failed')
    .addHelpText(
      ...examples(
        '# you looked, and it was done',
        'trustward intents resolve 01m7ysaj --as done --reason "seen banned in the console"',
        '# it was refused, and the next run may try again at once',
        'trustward intents resolve 01m7ysaj --as retry --reason "the key may write now"',
      ),
    )
    .action(
      bind(async (id: never, options: never) => (await import('../operator.ts')).intentResolveCommand(io, id, options)),
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
    .action(
      bind(async (options: never) => (await import('../operator-lists.ts')).notificationListCommand(io, options)),
    );

  const claims = program
    .command('claims')
    .description('actions that are still in force')
    .addHelpText(...examples('# what Trustward did that is still so', 'trustward claims list'));
  paged(reading(claims.command('list').description('open and orphaned claims')))
    .option('--all', 'include ended ones')
    .addHelpText(...examples('# for a script', 'trustward claims list --format json'))
    .action(bind(async (options: never) => (await import('../operator-lists.ts')).claimListCommand(io, options)));
  acting(
    claims.command('release [target]').description('undo now what is in force on a target, or plan the undo of a rule'),
  )
    .option('--rule <id>', 'instead of a target: a plan that undoes all that this rule has in force')
    .option('--reason <text>', 'why, for the audit; required with a target')
    .addHelpText(
      ...examples(
        '# unban the device of a serial number',
        'trustward claims release C02MQHAHEA --reason "replaced by a new laptop"',
        '# plan the undo of all that a rule has in force',
        'trustward claims release --rule ban-compromised-device --reason "a wrong rule"',
      ),
    )
    .action(
      bind(async (target: never, options: never) =>
        (await import('../operator.ts')).claimReleaseCommand(io, target, options),
      ),
    );
}
