// run: what a pass over the sources gives to the later stages.
import type { SubjectCounts } from '../act/context.ts';
import type { OwnerFacts } from '../decide/exemptions.ts';
import type { Bundles } from '../domain/bundles.ts';
import type { Fleet } from '../domain/fleet.ts';
import type { UsedAcceptance } from '../domain/operator.ts';
import type { Baseline, Snapshot } from '../domain/snapshot.ts';
import type { SteadyReading } from '../domain/steady-time.ts';
import type { JudgeContext, Judgement } from '../domain/verdict.ts';

/** What judging needs beside the record. */
export type JudgeView = Pick<JudgeContext, 'joins' | 'coverage' | 'unavailable'>;

export interface PulledSnapshot {
  snapshot: Snapshot;
  /** As of its beginning. */
  steady: SteadyReading;
  judgements: Judgement[];
  fleet: Fleet;
  /** Rules that could not be judged, a source that they need being unreadable. */
  unjudged: string[];
  baselines: Baseline[];
  subjects: SubjectCounts;
  view: JudgeView;
  /** Which services are in which bundles, when an action of some rule or claim asks for it and the server tells. */
  bundles: Bundles | undefined;
  /** Owners whom some exemption is about, by lower-case e-mail. */
  exemptOwners: OwnerFacts;
  /** Readings that a person took as they are, and what became of that. */
  accepted: UsedAcceptance[];
}

/** Whether the API answered at all: an address that was mistyped binds no database. */
export function wasReached({ snapshot }: PulledSnapshot): boolean {
  return Object.values(snapshot.sources).some(({ state }) => state === 'read');
}
