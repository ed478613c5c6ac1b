// history files: which rows of the files a query needs. In: a query. Out: a test of facts and of other rows. What identifies subjects is always
// among them, and so is a fact that is part of a wanted one or has it as a part.
import { FIELDS } from '../../domain/identity.ts';
import type { HistoryQuery } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { factKindOf } from '../rows.ts';
import type { Wanted } from './scan-facts.ts';

/** Beside the fields of identities: who owns what. */
const OWNING: Record<SubjectKind, readonly string[]> = {
  device: ['Emails'],
  user: ['SerialNumbers'],
  service: [],
};

/** Without these a run is still whole, except for what was open and decided. */
const OPEN_STATE = [
  ...[
    'episode',
    'claim',
    'decision',
    'intent',
    'rejected',
    'attempt',
    'attempts',
    'lately',
    'exemption',
    'members',
    'stop',
  ],
  ...['written', 'ended'],
];

export function wantedBy({ facts, factsOnly }: Pick<HistoryQuery, 'facts' | 'factsOnly'>): Wanted {
  return {
    fact: facts ? (kind, path) => isIdentity(kind, path) || isAmong(facts.get(kind), path) : () => true,
    row: factsOnly === true ? (kind) => !OPEN_STATE.includes(kind) : () => true,
  };
}

/** The same test for any row. */
export function isRowWanted({ fact, row }: Wanted): (kind: string, path: string) => boolean {
  return (kind, path) => {
    const factKind = factKindOf(kind);
    return factKind === undefined ? row(kind) : fact(factKind, path);
  };
}

function isIdentity(kind: SubjectKind, path: string): boolean {
  return path === '' || FIELDS[kind].includes(path) || OWNING[kind].includes(path);
}

function isAmong(wanted: ReadonlySet<string> | undefined, path: string): boolean {
  if (!wanted) return false;
  if (wanted.has(path)) return true;
  for (const one of wanted) if (one.startsWith(`${path}.`) || path.startsWith(`${one}.`)) return true;
  return false;
}
