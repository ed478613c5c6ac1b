// history files: which rows of the files a query needs. In: a query. Out: a test of facts and of other rows. What identifies subjects is always
// among them, and so is a fact that is part of a wanted one or has it as a part.
import { FIELDS } from '../../domain/identity.ts';
import type { HistoryQuery } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { factKindOf, OPEN_KINDS, type RowKind } from '../rows.ts';
import type { Wanted } from './scan-facts.ts';

/** Beside the fields of identities: who owns what. */
const OWNING: Record<SubjectKind, readonly string[]> = {
  device: ['Emails'],
  user: ['SerialNumbers'],
  service: [],
};

type Asked = Pick<HistoryQuery, 'facts' | 'factsOnly' | 'framesOnly'>;

/** Without these a run is still whole, except for what was open and decided. */
const OPEN_STATE: ReadonlySet<string> = new Set<RowKind>([...OPEN_KINDS, 'written', 'ended']);

export function wantedBy({ facts, factsOnly, framesOnly }: Asked): Wanted {
  const isOpen = (kind: string) => OPEN_STATE.has(kind);
  if (framesOnly) return { fact: () => false, noFacts: true, row: (kind) => kind !== 'event' && !isOpen(kind) };
  return {
    fact: facts ? (kind, path) => isIdentity(kind, path) || isAmong(facts.get(kind), path) : () => true,
    row: factsOnly === true ? (kind) => !isOpen(kind) : () => true,
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
