// run: what a run uses of the ceilings of its actions, to be kept with the run. In: what was decided, the attempts of the last 24
// hours. Out: for each action that acts, two counts. It allows nothing: decide/ predicts, and act/ asks at its one door.
import type { Decided, DecideInput } from '../decide/input.ts';
import type { ActionName } from '../domain/action.ts';
import { type CeilingUse, ceilingOf, ceilingSubject } from '../domain/ceiling.ts';
import { isLive } from '../domain/mode.ts';
import { SOURCE_OF } from '../domain/subjects.ts';

export function ceilingUse(input: DecideInput, decided: Pick<Decided, 'acts'>): CeilingUse[] {
  const { run, day } = input.settings.ceilings;
  return [...targetsByAction(input, decided)].flatMap(([action, targets]): CeilingUse[] => {
    const traits = input.traits.get(action);
    if (!traits?.changesFleet) return [];
    const subjects = input.sources[SOURCE_OF[ceilingSubject(traits)]].count;
    const before = input.openState.attempts24h.get(action) ?? 0;
    return [
      {
        action,
        window: 'run',
        used: (input.part?.attempts.get(action) ?? 0) + targets.size,
        allowed: ceilingOf(run, subjects),
      },
      { action, window: '24h', used: before + targets.size, allowed: ceilingOf(day, subjects) },
    ];
  });
}

/** Also of actions that were attempted in the last 24 hours. A rule whose own mode is `dry-run` uses nothing. */
function targetsByAction(input: DecideInput, { acts }: Pick<Decided, 'acts'>): Map<ActionName, Set<string>> {
  const onTrial = new Set(input.judged.filter(({ mode }) => !isLive(mode)).map(({ id }) => id));
  const byAction = new Map<ActionName, Set<string>>();
  for (const action of input.openState.attempts24h.keys()) byAction.set(action, new Set());
  for (const { draft } of acts) {
    if (draft.basis.every(({ rule }) => onTrial.has(rule))) continue;
    byAction.set(draft.action, (byAction.get(draft.action) ?? new Set()).add(draft.target));
  }
  return byAction;
}
