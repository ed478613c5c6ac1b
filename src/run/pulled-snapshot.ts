// run: what a pass over the sources passes to the later stages.
import type { SubjectCounts } from '../act/context.ts';
import type { OwnerFacts } from '../decide/exemptions.ts';
import type { DecideInput } from '../decide/input.ts';
import type { Bundles } from '../domain/bundles.ts';
import type { Fleet } from '../domain/fleet.ts';
import type { IdentityChanges } from '../domain/identity.ts';
import type { LookBackPass } from '../domain/look-back.ts';
import type { Movement } from '../domain/movement.ts';
import type { UsedAcceptance } from '../domain/operator.ts';
import type { SeenSubjects } from '../domain/recorded-history.ts';
import type { Rule } from '../domain/rule.ts';
import { type Baseline, isUsable, type Snapshot } from '../domain/snapshot.ts';
import type { SteadyReading } from '../domain/steady-time.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import type { JudgeContext, Judgement } from '../domain/verdict.ts';

/** What judging needs beside the record. */
export type JudgeView = Pick<JudgeContext, 'joins' | 'coverage' | 'unavailable'>;

export interface PulledSnapshot {
  snapshot: Snapshot;
  /** From its beginning. */
  steady: SteadyReading;
  judgements: Judgement[];
  fleet: Fleet;
  /** Rules that could not be judged because a source that they need was unreadable. */
  unjudged: string[];
  baselines: Baseline[];
  /** Of the sources that it read whole, trusted or not. */
  movements: Movement[];
  /** Of the trusted readings. */
  identities: IdentityChanges[];
  subjects: SubjectCounts;
  view: JudgeView;
  /** Which services are in which bundles, when an action of some rule or claim needs it and the server lists them. */
  bundles: Bundles | undefined;
  /** What the own records of targets show that the lists show otherwise than what was done last; undefined: no list was read. */
  ownReads?: DecideInput['ownReads'];
  /** What the event log names others to have done to subjects of open claims. */
  namedActs?: DecideInput['namedActs'];
  /** Owners that some exemption covers, by lower-case e-mail. */
  exemptOwners: OwnerFacts;
  /** Readings that rules look back on from now on, once the run is committed. */
  lookBacks: LookBackPass[];
  /** Accepted readings, and the results of the acceptances. */
  accepted: UsedAcceptance[];
  /** For the history: of each kind that was read, records that are not recorded as they are. */
  seen: SeenSubjects[];
  /** Of a look: the subjects that it read, and those that it found joined to them. */
  read?: readonly SubjectRef[];
  joined?: readonly SubjectRef[];
}

/** After the run is committed, and before it acts. */
export function takeOverLookBacks({ lookBacks }: Pick<PulledSnapshot, 'lookBacks'>): void {
  for (const pass of lookBacks) pass.takeOver();
}

/** Whether the API answered at all: a mistyped address must not bind a database. */
export function wasReached({ snapshot }: PulledSnapshot): boolean {
  return Object.values(snapshot.sources).some(({ state }) => state === 'read');
}

/** Whether the run says something about what waits for a person by this rule: it was judged, and on trusted data. */
export function wasJudged(
  { id, sources }: Pick<Rule, 'id' | 'sources'>,
  { snapshot, unjudged }: PulledSnapshot,
): boolean {
  return !unjudged.includes(id) && sources.every((source) => isUsable(snapshot.sources[source]));
}

/** What it says of some of its rules. */
export function judgementOf(judgement: Judgement, isWanted: (rule: string) => boolean): Judgement {
  const kept = ({ rule }: { rule: string }) => isWanted(rule);
  const { tallies, matches, open } = judgement;
  return { ...judgement, tallies: tallies.filter(kept), matches: matches.filter(kept), open: open.filter(kept) };
}
