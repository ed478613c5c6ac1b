// history codec: what deciding found open, as rows: one for each noun, which holds until it is another or ends. In: open state. Out: its nouns by
// kind and key, and open state again. Their order counts, too: it is that of their ids, unless a row of the run says otherwise.
import type { ActionName } from '../../domain/action.ts';
import type { Exemption } from '../../domain/exemption.ts';
import type { Stop } from '../../domain/operator.ts';
import type { MatchedLately, OpenState } from '../../domain/store.ts';
import { OPEN_KINDS, type OpenKind } from '../rows.ts';

/** Nouns with an id, in the order in which deciding is handed them. */
export const NOUNS = {
  episode: 'episodes',
  claim: 'claims',
  decision: 'decisions',
  intent: 'intents',
} as const satisfies Partial<Record<OpenKind, keyof OpenState>>;

type NounKind = keyof typeof NOUNS;
export const NOUN_KINDS = Object.keys(NOUNS) as NounKind[];

/** By kind and key: what is open, as data. */
export type OpenRows = Record<OpenKind, ReadonlyMap<string, unknown>>;

/** There is at most one. */
const THE_STOP = '';
/** Beside the subjects: that they are known, even if there are none. Earlier versions did not record them. */
const IS_KNOWN = '';

export function openRowsOf(open: OpenState): OpenRows {
  const byId = (nouns: readonly { id: string }[]) => new Map(nouns.map((noun) => [noun.id, noun]));
  return {
    episode: byId(open.episodes),
    claim: byId(open.claims),
    decision: byId(open.decisions),
    intent: byId(open.intents),
    rejected: new Map([...open.rejected].map((key) => [key, true])),
    attempt: open.lastAttempts,
    attempts: open.attempts24h,
    lately: new Map<string, unknown>(open.lately ? [[IS_KNOWN, true], ...open.lately] : []),
    exemption: byId((open.exemptions ?? []).map(({ members: _, ...exemption }) => exemption)),
    // Apart: an exemption changes whenever it is used, and its members are long.
    members: new Map(
      (open.exemptions ?? []).flatMap(({ id, members }) => (members === undefined ? [] : [[id, members]])),
    ),
    stop: new Map(open.stop ? [[THE_STOP, open.stop]] : []),
  };
}

/** Keys by kind, where only some of what is open was read, or in another order than that of the keys. */
export type OpenKeys = { readonly [kind in OpenKind]?: readonly string[] };

/** Undefined: all keys of each kind, in their order. `isPart`: what is not among these is open nevertheless. */
export function openKeysOf(rows: OpenRows, isPart: boolean): OpenKeys | undefined {
  const kinds = isPart ? OPEN_KINDS : [...NOUN_KINDS, 'exemption' as const].filter((kind) => !isSorted(rows[kind]));
  return kinds.length === 0 ? undefined : Object.fromEntries(kinds.map((kind) => [kind, [...rows[kind].keys()]]));
}

function isSorted(rows: ReadonlyMap<string, unknown>): boolean {
  let before: string | undefined;
  for (const key of rows.keys()) {
    if (before !== undefined && key < before) return false;
    before = key;
  }
  return true;
}

/** Errors: Error for a key that nothing is recorded of, unless somebody was forgotten. */
export function openStateOf(rows: OpenRows, keys: OpenKeys = {}, hasForgotten = false): OpenState {
  const chosen = (kind: OpenKind): [string, unknown][] => {
    const own = rows[kind];
    const wanted = keys[kind];
    if (!wanted) return [...own].sort(([a], [b]) => (a < b ? -1 : 1));
    return (hasForgotten ? wanted.filter((key) => own.has(key)) : wanted).map((key) => {
      if (!own.has(key)) throw new Error(`it has no ${kind} ${key}`);
      return [key, own.get(key)];
    });
  };
  const nouns = <K extends NounKind>(kind: K) => chosen(kind).map(([, noun]) => noun) as OpenState[(typeof NOUNS)[K]];
  const [[, stop] = []] = chosen('stop');
  const members = new Map(chosen('members') as [string, string][]);
  return {
    episodes: nouns('episode'),
    claims: nouns('claim'),
    decisions: nouns('decision'),
    intents: nouns('intent'),
    rejected: new Set(chosen('rejected').map(([key]) => key)),
    lastAttempts: new Map(chosen('attempt') as [string, number][]),
    attempts24h: new Map(chosen('attempts') as [ActionName, number][]),
    ...latelyIn(new Map(chosen('lately')) as Map<string, MatchedLately>),
    exemptions: chosen('exemption').map(([id, one]) => {
      const own = members.get(id);
      return own === undefined ? (one as Exemption) : { ...(one as Exemption), members: own };
    }),
    stop: stop as Stop | undefined,
  };
}

function latelyIn(lately: Map<string, MatchedLately>): Pick<OpenState, 'lately'> {
  return lately.delete(IS_KNOWN) ? { lately } : {};
}
