// harness: more planted bugs: a part of a plan is more or less than what was said, a serial number counts in its own case only, a refused
// request is repeated with every run. In: a healthy store. Out: a sick one. Nothing in the product knows of these.

import { planDigest } from '../../src/domain/digest.ts';
import type { Plan } from '../../src/domain/plan.ts';

import type { EngineStore } from '../../src/engine/run/engine.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

export function misheard(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'part_is_everything':
      return splitting(store, (part, rest) => [withIntents(part, [...part.intents, ...rest.intents]), rest]);
    case 'rest_is_lost':
      return splitting(store, (part, rest) => [part, withIntents(rest, rest.intents.slice(1))]);
    case 'what_joined_is_covered':
      return replaced(store, { planAt: (id) => store.plan(id) });
    case 'serial_number_has_a_case':
      return replaced(store, {
        exemptions: async (nowMs) =>
          (await store.exemptions(nowMs)).filter(({ selector: { value = '' } = {} }) => value === value.toUpperCase()),
      });
    case 'refusals_are_repeated':
      return replaced(store, {
        settle: ({ refused, ...given }) =>
          store.settle({ ...given, refused: refused && { credential: 'always another' } }),
      });
    default:
      return store;
  }
}

function splitting(store: EngineStore, change: (part: Plan, rest: Plan) => [Plan, Plan]): EngineStore {
  return replaced(store, {
    replacePlans: async ({ carried, ...given }, notes) => {
      if (!carried) return store.replacePlans(given, notes);
      const [sealed, plan] = change(given.sealed, carried.plan);
      const digestOf = new Map<unknown, string>([sealed, plan].map(({ id, digest }) => [id, digest]));
      const told = notes.map(({ kind, body }) => {
        const digest = 'plan' in body ? digestOf.get(body.plan) : undefined;
        return { kind, body: digest === undefined ? body : { ...body, digest } };
      });
      await store.replacePlans({ sealed, carried: { ...carried, plan } }, told);
    },
  });
}

/** Sealed as it is: only what a person said shows the difference. */
function withIntents(plan: Plan, intents: Plan['intents']): Plan {
  return { ...plan, intents, digest: planDigest(intents) };
}
