// evaluate: a rule's actions against its condition and against each other. In: what `when` reads, the proposals, the actions' traits.
// Out: problems: `when` must not read what the rule's own action writes, and no action may undo another of the same rule.

import type { ActionTraits } from '../../domain/action.ts';
import { canonicalJson } from '../../domain/canonical.ts';
import type { ActionOfRule } from '../../domain/rule.ts';
import type { Problems } from '../language/problem.ts';
import type { Reads } from '../language/reads.ts';

type Traits = ReadonlyMap<string, ActionTraits>;

/** Reports, once for each action, the first path of `when` that this action writes with the rule's settings. */
export function refuseOwnEffect(
  reads: Reads,
  proposals: readonly ActionOfRule[],
  traits: Traits,
  problems: Problems,
): void {
  for (const { action, with: settings } of proposals) {
    const trait = traits.get(action);
    const written = [trait?.fieldWritten ?? [], trait?.alsoWrites?.(settings) ?? []].flat();
    const read = [...reads.places].find(([path]) => written.some((field) => overlap(path, field)));
    if (!read) continue;
    const [path, place] = read;
    const message = `\`when\` reads \`${path}\`, which \`${action}\` itself writes: the rule would clear itself by its own effect; leave it out, a target already in that state is skipped`;
    problems.add('reads_own_effect', place, message);
  }
}

/** The paths are equal, or one contains the other. */
function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
}

/** Reports an action whose inverse, with the same settings, the rule names too: each run would do both. */
export function refuseInverses(proposals: readonly ActionOfRule[], traits: Traits, problems: Problems): void {
  proposals.forEach((proposal, index) => {
    const inverse = traits.get(proposal.action)?.inverse;
    const undone = proposals
      .slice(0, index)
      .find((each) => each.action === inverse && canonicalJson(each.with) === canonicalJson(proposal.with));
    if (!undone) return;
    const message = `\`${proposal.action}\` undoes \`${undone.action}\` of the same rule; name one of them (\`revert: true\` undoes when the rule no longer matches)`;
    problems.add('action', ['then', index], message);
  });
}
