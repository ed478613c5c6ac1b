// cli: the grammar of `organizations …`: names, options and their help.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';
import { examples } from './examples.ts';
import { outputOptions } from './options.ts';

export function addOrganizations(program: Command, io: Io, bind: Bind): void {
  const organizations = program
    .command('organizations')
    .description('files of organizations')
    .addHelpText(...examples('# what is wrong with the files of a folder', 'trustward organizations check'));
  const add = (name: string, text: string) =>
    outputOptions(organizations.command(name).description(text), 'text, json').option(
      '--organizations <folder>',
      'the folder of organizations (TRUSTWARD_ORGANIZATIONS)',
    );
  add('check', 'check every file, the rules that it names and its credentials; file, line and column of each mistake')
    .addHelpText(
      ...examples(
        '# before a folder is put in force',
        'trustward organizations check --organizations new-organizations',
      ),
    )
    .action(
      bind(async (options: never) => (await import('../organizations.ts')).organizationsCheckCommand(io, options)),
    );
  add('list', 'organizations, with address, mode, schedule, rules and whether the credential can be read')
    .addHelpText(...examples('# for a script', 'trustward organizations list --format json'))
    .action(
      bind(async (options: never) => (await import('../organizations.ts')).organizationsListCommand(io, options)),
    );
}
