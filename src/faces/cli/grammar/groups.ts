// cli: the groups of commands, in the order of the help, each with a grammar file of its own. In: the first argument. Out:
// what adds the group that it names to the program, or all of them. A command does not wait for the grammar of the others.
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { Bind } from './bind.ts';

type Add = (program: Command, io: Io, bind: Bind) => void;

interface Group {
  /** Every command that the file adds. */
  commands: readonly string[];
  load(): Promise<Add>;
}

export const GROUPS: readonly Group[] = [
  {
    commands: ['serve', 'worker', 'run', 'plan', 'approve', 'reject', 'apply'],
    load: async () => (await import('./acting.ts')).addActing,
  },
  {
    commands: ['why', 'report', 'plans', 'summary', 'runs', 'decisions', 'replay'],
    load: async () => (await import('./reading.ts')).addReading,
  },
  {
    commands: ['exempt', 'stop', 'resume', 'snapshot', 'intents', 'notifications', 'claims'],
    load: async () => (await import('./operator.ts')).addOperatorCommands,
  },
  {
    commands: ['open', 'tokens', 'doctor', 'init', 'db'],
    load: async () => (await import('./operating.ts')).addOperating,
  },
  { commands: ['audit'], load: async () => (await import('./audit.ts')).addAudit },
  { commands: ['history'], load: async () => (await import('./history.ts')).addHistory },
  {
    commands: ['organizations'],
    load: async () => (await import('./organizations.ts')).addOrganizations,
  },
  { commands: ['rules', 'explain', 'facts'], load: async () => (await import('./rules.ts')).addRules },
  { commands: ['console'], load: async () => (await import('./console.ts')).addConsole },
];

/** All groups for anything that is not the name of a command: help lists every command, a mistake is compared with each. */
export async function groupsFor(first: string | undefined): Promise<Add[]> {
  const named = GROUPS.filter(({ commands }) => commands.includes(first ?? ''));
  return Promise.all((named.length > 0 ? named : GROUPS).map(({ load }) => load()));
}
