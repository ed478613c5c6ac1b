// run: the one way from what a run saw to the input of deciding, for live runs and for replays of recorded ones. In: a snapshot, the rules, the
// open state. Out: the input. Pure: time, ids and settings are handed over.
import type { DecideInput } from '../decide/input.ts';
import type { Rule } from '../domain/rule.ts';
import type { Run } from '../domain/run.ts';
import type { Snapshot } from '../domain/snapshot.ts';
import type { OpenState } from '../domain/store.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

/** What deciding reads of a pass over the sources. */
export type SeenSnapshot = Pick<
  PulledSnapshot,
  'unjudged' | 'steady' | 'judgements' | 'fleet' | 'bundles' | 'ownReads' | 'namedActs' | 'exemptOwners'
> & { snapshot: Pick<Snapshot, 'sources'> };

/** Of the moment, beside the snapshot. */
export type AtTheTime = Pick<DecideInput, 'traits' | 'ids' | 'freeze' | 'quietMs' | 'settings'>;

export function inputOf(
  { traits, ids, freeze, quietMs, settings }: AtTheTime,
  run: Pick<Run, 'mode' | 'daemonMode' | 'startedAt'>,
  own: { rules: readonly Rule[]; active: DecideInput['activeRules'] },
  seen: SeenSnapshot,
  openState: OpenState,
): DecideInput {
  const unjudged = new Set(seen.unjudged);
  return {
    runMode: run.mode,
    daemonMode: run.daemonMode,
    nowMs: run.startedAt,
    freeze,
    steady: seen.steady,
    quietMs,
    judged: own.rules.filter((rule) => !unjudged.has(rule.id)),
    unjudged: own.rules.filter((rule) => unjudged.has(rule.id)),
    activeRules: own.active,
    traits,
    judgements: seen.judgements,
    sources: seen.snapshot.sources,
    fleet: seen.fleet,
    bundles: seen.bundles,
    openState,
    ownReads: seen.ownReads,
    namedActs: seen.namedActs,
    exemptOwners: seen.exemptOwners,
    ids,
    settings,
  };
}
