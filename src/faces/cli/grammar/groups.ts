// cli: the groups of commands, in the order of the help, each with a file of rows. In: the first argument. Out: what adds the
// group that it names to the program, or all of them. A command does not wait for the rows of the others.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { addRows, type Bind, type Row } from './row.ts';

type Add = (program: Command, io: Io, bind: Bind) => void;

interface Group {
  /** Every command that the file adds. */
  commands: readonly string[];
  load(): Promise<{ ROWS: readonly Row[] }>;
}

export const GROUPS: readonly Group[] = [
  { commands: ['serve', 'worker', 'run', 'plan', 'approve', 'reject', 'apply'], load: () => import('./acting.ts') },
  {
    commands: ['why', 'report', 'plans', 'summary', 'runs', 'decisions', 'devices', 'users', 'services', 'replay'],
    load: () => import('./reading.ts'),
  },
  {
    commands: [
      'inbox',
      'exempt',
      'requests',
      'stop',
      'resume',
      'rollout',
      'check',
      'snapshot',
      'intents',
      'notices',
      'notifications',
      'claims',
      'mine',
    ],
    load: () => import('./operator.ts'),
  },
  {
    commands: ['open', 'login', 'logout', 'tokens', 'doctor', 'mail', 'init', 'db'],
    load: () => import('./operating.ts'),
  },
  { commands: ['audit', 'evidence', 'verify-evidence', 'history'], load: () => import('./record.ts') },
  { commands: ['organizations', 'rules', 'explain', 'facts'], load: () => import('./rules.ts') },
  { commands: ['console'], load: () => import('./console.ts') },
];

/** How the help shows all commands. A test compares them with those that there are. */
export const HELP_GROUPS: readonly (readonly [title: string, commands: readonly string[]])[] = [
  ['Begin here:', ['init', 'open', 'login', 'logout', 'inbox']],
  [
    'See what happens:',
    [
      'summary',
      'why',
      'devices',
      'users',
      'services',
      'report',
      'runs',
      'decisions',
      'plans',
      'audit',
      'evidence',
      'verify-evidence',
      'history',
    ],
  ],
  [
    'Decide:',
    [
      'plan',
      'approve',
      'reject',
      'apply',
      'exempt',
      'requests',
      'claims',
      'check',
      'mine',
      'intents',
      'stop',
      'resume',
      'rollout',
      'snapshot',
    ],
  ],
  ['Write rules:', ['rules', 'explain', 'facts', 'replay']],
  [
    'Operate:',
    [
      'run',
      'serve',
      'worker',
      'doctor',
      'db',
      'tokens',
      'notices',
      'notifications',
      'mail',
      'organizations',
      'console',
    ],
  ],
];

/** All groups for anything that is not the name of a command: help lists every command, a mistake is compared with each. */
export async function groupsFor(first: string | undefined): Promise<Add[]> {
  const named = GROUPS.filter(({ commands }) => commands.includes(first ?? ''));
  const groups = await Promise.all((named.length > 0 ? named : GROUPS).map(({ load }) => load()));
  return groups.map(
    ({ ROWS }) =>
      (program, io, bind) =>
        addRows(program, ROWS, io, bind),
  );
}
