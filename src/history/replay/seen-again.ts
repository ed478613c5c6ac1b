// history: one run seen again: what its pull handed to deciding, from the world of the replay. In: the world, kept verdicts, the run's frame. Out:
// the input of deciding. Both ways of a replay use it: as it was with the recorded open state, what if with one of its own.

import type { DecideInput } from '../../decide/input.ts';
import type { Part } from '../../decide/part.ts';
import { type ActionName, type ActionTraits, fieldsWritten } from '../../domain/action.ts';
import type { Ids } from '../../domain/ports.ts';
import type { RecordedPart, RunFrame } from '../../domain/recorded-history.ts';
import { rulesById } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import { inputOf } from '../../run/decide-input.ts';
import { judgementOf } from '../../run/pulled-snapshot.ts';
import { watchedSubjects } from '../../run/watched-subjects.ts';
import type { KeptVerdicts } from './kept-verdicts.ts';
import type { RecordedWorld } from './recorded-world.ts';
import type { RulesAgain } from './rules-again.ts';

export interface SeeingAgain {
  world: RecordedWorld;
  verdicts: KeptVerdicts;
  rules: RulesAgain;
  traits: ReadonlyMap<ActionName, ActionTraits>;
  ids: Ids;
}

/** `of`: which rules the run was about, which of them it could not judge, and which are active. INVARIANT: the world has seen the run. */
export function seenAgain(
  { world, verdicts, rules, traits, ids }: SeeingAgain,
  frame: RunFrame,
  of: Pick<RunFrame, 'judged' | 'unjudged' | 'activeRules'>,
  openState: OpenState,
): DecideInput {
  const views = world.views(frame);
  const judged = new Set(of.judged);
  const isOfRun = new Set([...of.judged, ...of.unjudged]);
  const judgements = verdicts.judge(frame, views, watchedSubjects(openState));
  const seen = {
    unjudged: [...of.unjudged],
    steady: frame.steady,
    judgements: judgements.map((one) => judgementOf(one, (rule) => judged.has(rule))),
    snapshot: { sources: frame.decidedOn ?? frame.sources },
    fleet: world.fleet(frame, views.device, fieldsWritten(traits, 'device')),
    bundles: frame.bundles,
    ownReads: frame.ownReads,
    namedActs: frame.namedActs,
    exemptOwners: world.ownersExempt(frame, openState),
  };
  const { freeze, quietMs, settings } = frame;
  const known = rulesById(rules.rules);
  const own = {
    rules: rules.rules.filter(({ id }) => isOfRun.has(id)),
    active: new Map(of.activeRules.map((id) => [id, known.get(id)])),
  };
  const input = inputOf({ traits, ids, freeze, quietMs, settings }, frame.run, own, seen, openState);
  return frame.part ? { ...input, part: partOf(frame.part) } : input;
}

function partOf({ sinceSeq, counted, attempts, read }: RecordedPart): Part {
  const keys = new Set(read.map(({ kind, id }) => `${kind} ${id}`));
  return { sinceSeq, counted, attempts, hasRead: ({ kind, id }) => keys.has(`${kind} ${id}`) };
}
