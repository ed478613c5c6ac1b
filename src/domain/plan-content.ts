// domain: the content of planned intents, as a plan's digest covers it; and how the plans in place of a superseded one differ from it.
// In: planned intents. Out: comparable content, counts, words. Pure. Windows and `age` change by themselves: they are evidence.
import { canonicalJson } from './canonical.ts';
import { giveWay } from './give-way.ts';
import type { Intent } from './intent.ts';
import { episodesOf, hasProgress, type Plan, type PlanDifference, type PlannedIntent } from './plan.ts';

/** What a digest covers of one intent, and no more. */
export function contentOf({ key, action, target, settings, held, released, basis, effect }: PlannedIntent) {
  return {
    key,
    action,
    target,
    settings,
    held,
    // Only an undo that a person asked for has it: the digests of all other intents stay as they were.
    released: released || undefined,
    devices: effect.devices.map((device) => device.id).sort(),
    changes: effect.changes,
    deletion: effect.deletion,
    ends: effect.ends,
    joined: effect.joined,
    basis: basis.map(({ rule, ruleHash, subjectId, facts }) => ({
      rule,
      ruleHash,
      subjectId,
      facts: sealedFacts(facts),
    })),
  };
}

function sealedFacts(facts: PlannedIntent['basis'][number]['facts']): object {
  return Object.fromEntries(Object.entries(facts).filter(([path]) => /^[A-Za-z_][\w.]*$/.test(path)));
}

/** The live intents of the plan's episodes, which show how far applying it has come; none before it has begun. */
export async function liveIntentsOf(
  reader: { intents(of: { liveFor: string[] }): Promise<Intent[]> },
  plan: Pick<Plan, 'status' | 'intents'>,
): Promise<Intent[]> {
  return hasProgress(plan) ? reader.intents({ liveFor: episodesOf(plan) }) : [];
}

const AT_ONCE = 200;

/**
 * How the plans in the place of a superseded one differ from it; null for any other plan, and when it is not known any longer. It gives way:
 * plans may be long.
 */
export async function differenceFrom(
  reader: { plan(id: string): Promise<Plan | undefined> },
  was: Plan,
): Promise<PlanDifference | null> {
  if (was.dropped) return was.dropped.difference;
  if (was.supersededBy === undefined) return null;
  const before = new Map(was.intents.map((one) => [one.key, one]));
  const difference = { added: 0, removed: before.size, changed: 0 };
  for (const id of was.supersededBy) {
    const successor = await reader.plan(id);
    if (!successor || successor.dropped) return null;
    for (const [at, one] of successor.intents.entries()) {
      if (at % AT_ONCE === AT_ONCE - 1) await giveWay();
      const earlier = before.get(one.key);
      if (!earlier) difference.added += 1;
      else difference.removed -= 1;
      if (earlier && canonicalJson(contentOf(earlier)) !== canonicalJson(contentOf(one))) difference.changed += 1;
    }
  }
  return difference;
}

/** `plan X: 2 added, 1 removed`; `plans X and Y: the same actions`; `a run that planned nothing`. */
export function successorText(ids: readonly string[], difference: PlanDifference | null): string {
  if (ids.length === 0) return 'a run that planned nothing';
  const named = `plan${ids.length === 1 ? '' : 's'} ${ids.join(' and ')}`;
  if (difference === null) return named;
  const counted = (['added', 'removed', 'changed'] as const).filter((how) => difference[how] > 0);
  return `${named}: ${counted.map((how) => `${difference[how]} ${how}`).join(', ') || 'the same actions'}`;
}
