// cli: `devices`, `users`, `services`: what the last trusted reading showed, one line each. Reading only, also while a daemon writes.

import { shownName } from '../../base/text.ts';
import { timeText } from '../../base/time.ts';
import type { Output } from '../../contract/table.ts';
import { SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import { whole } from '../report/fact-text.ts';
import { listedWords, NOT_SORTED, notReadText } from '../report/fleet-view.ts';
import { terminalList } from '../report/terminal-table.ts';
import { type CommonOptions, type Io, lineWidthOf } from './io.ts';
import { does, type Words } from './operations.ts';

interface FleetOptions extends CommonOptions {
  /** Without a value: true. */
  banned?: string | true;
  compromised?: string | true;
  enabled?: string | true;
  desc?: true;
}

/** The options that are members of the input as they are called. */
const MEMBERS = ['platform', 'level', 'rule', 'owner', 'sort', 'limit', 'after'] as const;

export function fleetCommand(kind: SubjectKind) {
  return (io: Io, q: string | undefined, options: FleetOptions): Promise<number> => {
    const given = options as unknown as Record<string, unknown>;
    const flags = (['banned', 'compromised', 'enabled'] as const).map((name) => [
      name,
      options[name] === true ? 'true' : options[name],
    ]);
    const input = {
      ...Object.fromEntries(
        [...flags, ...MEMBERS.map((name) => [name, given[name]])].filter(([, value]) => value !== undefined),
      ),
      ...(q !== undefined && { q }),
      ...(options.desc && { order: 'desc' }),
      kind,
    };
    return does(io, options, 'listSubjects', input, wordsOf(kind, options));
  };
}

function wordsOf(kind: SubjectKind, options: FleetOptions): Words<'listSubjects'> {
  return {
    text: (answer) => (answer.readAt === null ? [notReadText(kind)] : textOf(kind, answer, options)),
    aside: ({ next }) => (next === null ? '' : `the next ones: --after ${next}`),
  };
}

function textOf(
  kind: SubjectKind,
  { subjects, total, readAt, isSorted }: Output<'listSubjects'>,
  options: FleetOptions,
): string[] {
  const at = `as of ${timeText(Date.parse(readAt as string))}`;
  const counted = total === null ? '' : `${total} ${total === 1 ? kind : SOURCE_OF[kind]}, `;
  const head = [`${counted}${at}`, ...(isSorted ? [] : [NOT_SORTED])];
  if (subjects.length === 0)
    return [total === 0 ? `no ${SOURCE_OF[kind]} like this, ${at}` : `none among those that were looked at, ${at}`];
  const rows = subjects.map((one) => [
    shownName(one.name === '' ? one.id : one.name),
    whole(kind === 'device' ? one.serial : one.id),
    listedWords(one).map(({ text }) => text),
    one.platform,
    one.rules,
    one.owners ?? [],
  ]);
  const heads = ['Name', ID_HEAD[kind], 'State', 'Platform', 'Matches', 'Owners'];
  const list = terminalList(heads, rows, lineWidthOf(options), ['Owners', 'Matches', 'Platform']);
  return [...head, ...list.split('\n')];
}

const ID_HEAD: Readonly<Record<SubjectKind, string>> = { device: 'Serial number', user: 'E-mail', service: 'Id' };
