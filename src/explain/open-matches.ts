// explain: what the last runs decided about others, as matches again: so that limits, owners, conflicts and ceilings weigh one
// explained subject among them, and so does what is to be undone. In: decisions in force. Out: matches, troubles that are over, and
// their devices, as far as decisions tell of them. Pure.
import type { Action, ActionName } from '../domain/action.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { Fleet, FleetDevice } from '../domain/fleet.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { SubjectSummary } from '../domain/target.ts';
import type { Judgement, Match, OpenVerdict } from '../domain/verdict.ts';

/** Others do not weigh with these, and all that it would take to ask again is not in a decision; the rest is asked anew. */
const WEIGHS_NOTHING: ReadonlySet<string> = new Set(['untrusted_source', 'exempt']);

/** No decision tells whose a device is; those that were held for one owner go on being held together. */
const SOMEBODY = 'somebody who owns several';

export interface OpenMatches {
  matches: Match[];
  /** Subjects of which something is to be undone. */
  over: OpenVerdict[];
  /** By serial number. */
  devices: Map<string, FleetDevice[]>;
}

export function openMatches(decisions: readonly StoredDecision[], actions: Actions): OpenMatches {
  const groups = new Map<string, StoredDecision[]>();
  for (const decision of decisions.toSorted(asRoomWasGiven)) {
    const key = `${decision.rule}\u0000${decision.subject.id}\u0000${decision.verdict}`;
    groups.set(key, [...(groups.get(key) ?? []), decision]);
  }
  const found: OpenMatches = { matches: [], over: [], devices: new Map() };
  for (const group of groups.values()) {
    if (group.every(weighsNothing)) continue;
    const match = matchOf(group, actions);
    if (group[0]?.verdict === 'match') found.matches.push(match);
    else found.over.push({ ...match, verdict: 'no_match', missing: [] });
    if (match.summary.kind === 'device')
      found.devices.set(match.summary.serial, devicesOf(group, match.summary, actions));
  }
  return found;
}

/**
 * One for each kind, as passes over the sources give them; `now` is a pass over one subject alone, and has the last word on it.
 * It keeps its place among the others: of a ceiling, the first ones have the room.
 */
export function judgementsAmong(now: Judgement, { matches, over }: OpenMatches, subjectId: string): Judgement[] {
  const isOwn = ({ rule, summary }: Pick<Match, 'rule' | 'summary'>) =>
    summary.id === subjectId && now.tallies.some((tally) => tally.rule === rule);
  const own = matches.filter(({ summary }) => summary.kind === now.kind);
  const place = own.findIndex(isOwn);
  const others = own.filter((match) => !isOwn(match));
  const among = place < 0 ? [...others, ...now.matches] : others.toSpliced(place, 0, ...now.matches);
  const overOf = (kind: SubjectKind) => over.filter((one) => one.summary.kind === kind && !isOwn(one));
  const kinds = new Set([...matches, ...over].map(({ summary }) => summary.kind).filter((kind) => kind !== now.kind));
  return [
    { ...now, matches: among, open: [...now.open, ...overOf(now.kind)] },
    ...[...kinds].map((kind): Judgement => {
      const all = matches.filter(({ summary }) => summary.kind === kind);
      return { kind, judged: all.length, tallies: [], matches: all, open: overOf(kind), values: {} };
    }),
  ];
}

/** Those read now, and else those that decisions tell of. `owned`: what the owners' own records tell of their devices. */
export function joinedFleet(read: Fleet, open: OpenMatches['devices'], owned: ReturnType<Fleet['serialsOf']>): Fleet {
  return {
    serialsOf: () => owned,
    devicesOf: (serial) => {
      const now = read.devicesOf(serial);
      return now.length > 0 ? now : (open.get(serial) ?? []);
    },
  };
}

/** Under a ceiling who had room keeps it; else the order in which they were written. */
function asRoomWasGiven(a: StoredDecision, b: StoredDecision): number {
  return Number(a.reason === 'ceiling') - Number(b.reason === 'ceiling') || (a.id < b.id ? -1 : 1);
}

function weighsNothing({ reason }: StoredDecision): boolean {
  return WEIGHS_NOTHING.has(reason);
}

function matchOf(group: readonly StoredDecision[], actions: Actions): Match {
  const { rule, subject, subjectName, facts, effect } = group[0] as StoredDecision;
  const own = effect.devices.find((device) => device.id === subject.id);
  const summary: SubjectSummary = {
    kind: subject.kind,
    id: subject.id,
    name: subjectName,
    serial: subject.kind === 'device' ? (ofSerial(group, actions)?.target ?? '') : '',
    serials: subject.kind === 'user' ? serialsOf(group, actions) : undefined,
    owners: undefined,
    state: stateOf(group, actions),
    model: own?.model ?? '',
    platform: own?.platform ?? '',
  };
  return { rule, summary, facts };
}

type Actions = ReadonlyMap<ActionName, Action>;

/** The first whose target is the serial number of its device. */
function ofSerial(group: readonly StoredDecision[], actions: Actions): StoredDecision | undefined {
  return group.find(({ action }) => actions.get(action)?.target.serialOf !== undefined);
}

function serialsOf(group: readonly StoredDecision[], actions: Actions): string[] {
  return group
    .filter((decision) => !weighsNothing(decision))
    .flatMap(({ action, target, subject }) => {
      const { serialOf, settingsOf } = actions.get(action)?.target ?? {};
      return serialOf?.(target, settingsOf?.(subject) ?? {}) ?? [];
    });
}

/** Of several actions of a rule, some may be done already: their fields have the wished value. */
function stateOf(group: readonly StoredDecision[], actions: Actions): SubjectSummary['state'] {
  const so = group.filter(({ reason }) => reason === 'already_so');
  return Object.fromEntries(
    so.flatMap(({ action }) => {
      const { fieldWritten, valueWritten } = actions.get(action) ?? {};
      return fieldWritten === undefined ? [] : [[fieldWritten, valueWritten]];
    }),
  );
}

function devicesOf(group: readonly StoredDecision[], summary: SubjectSummary, actions: Actions): FleetDevice[] {
  const { effect } = ofSerial(group, actions) ?? (group[0] as StoredDecision);
  const owners = group.some(({ reason }) => reason === 'owners') ? [SOMEBODY] : undefined;
  return effect.devices.map((device) => ({ ...device, state: summary.state, owners }));
}
