// decide: puts what a run saw into one order, so that the API's order of a list decides nothing: a ceiling takes the first of the matches,
// an effect names the first of the devices. In: the input of deciding. Out: the same, by id. Pure. It is the only place that does this.
import type { Fleet } from '../domain/fleet.ts';
import type { OpenState } from '../domain/store.ts';
import type { Judgement } from '../domain/verdict.ts';
import type { DecideInput } from './input.ts';

export function inOrderOfIds(input: DecideInput): DecideInput {
  return {
    ...input,
    judgements: input.judgements.map(inOrder),
    fleet: orderedFleet(input.fleet),
    openState: orderedState(input.openState),
  };
}

/** Verdicts on one subject stay in the order of its rules. */
function inOrder(judgement: Judgement): Judgement {
  return {
    ...judgement,
    matches: sorted(judgement.matches, ({ summary }) => summary.id),
    open: sorted(judgement.open, ({ summary }) => summary.id),
  };
}

function orderedFleet(fleet: Fleet): Fleet {
  return {
    devicesOf: (serial) => sorted(fleet.devicesOf(serial), ({ id }) => id),
    serialsOf: (owners) => fleet.serialsOf(owners),
    hidesOwners: fleet.hidesOwners ?? false,
  };
}

/** Rows come in whatever order the store has them; intents are given in the order in which they were made. */
function orderedState(state: OpenState): OpenState {
  return {
    ...state,
    episodes: sorted(state.episodes, ({ id }) => id),
    claims: sorted(state.claims, ({ id }) => id),
    decisions: sorted(state.decisions, ({ id }) => id),
    intents: state.intents.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
  };
}

/** Most lists are in order already. */
function sorted<T>(all: T[], idOf: (one: T) => string): T[] {
  for (let at = 1; at < all.length; at += 1)
    if (idOf(all[at - 1] as T) > idOf(all[at] as T)) return all.toSorted((a, b) => compare(idOf(a), idOf(b)));
  return all;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
