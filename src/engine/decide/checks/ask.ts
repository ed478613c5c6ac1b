// decide: asks the checks of a stage in their order. In: the facts about one target. Out: the first refusal, with the check that
// gave it. Act and the operator's commands get it as a parameter, since no stage imports another. Pure.
import type { Ask, Check, CheckName } from '../../../domain/check.ts';
import { BOUNDS } from './bounds.ts';
import { HOLDS } from './holds.ts';
import { PEOPLE } from './people.ts';
import { PROGRESS } from './progress.ts';
import { RULES } from './rules.ts';
import { LISTS } from './stages.ts';
import { TARGETS } from './targets.ts';
import { UNDOS } from './undos.ts';

export const CHECKS: { readonly [name in CheckName]: Check } = {
  ...BOUNDS,
  ...HOLDS,
  ...PEOPLE,
  ...PROGRESS,
  ...RULES,
  ...TARGETS,
  ...UNDOS,
};

export const ask: Ask = (stage, facts) => {
  for (const { check, of } of LISTS[stage]) {
    if (of === 'fleet' && !facts.traits.changesFleet) continue;
    const refusal = CHECKS[check].ask(facts);
    if (refusal) return { ...refusal, check };
  }
  return undefined;
};
