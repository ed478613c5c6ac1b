// harness: more planted bugs: calls that go at once share an owner, or take the same place of a ceiling. In: the parts of a healthy engine.
// Out: the parts of a sick one. Nothing in the product knows of these.
import type { Action, ActionName } from '../../src/domain/action.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

export function hastyStore(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'ceiling_is_counted_after_the_call':
      return replaced(store, {
        attemptsSince: async (action, sinceMs) => {
          const underWay = (await store.intentsIn('sent')).filter((intent) => intent.action === action);
          return (await store.attemptsSince(action, sinceMs)) - underWay.length;
        },
      });
    case 'one_owner_is_called_twice_at_once':
      return replaced(store, {
        // What is carried out are the same objects.
        commitRun: async (commit) => {
          await store.commitRun(commit);
          for (const { effect } of commit.intents)
            Object.assign(effect, { devices: effect.devices.map(({ owners, ...device }) => device) });
        },
      });
    default:
      return store;
  }
}

export function hastyActions(
  actions: ReadonlyMap<ActionName, Action>,
  bug: PlantedBug | undefined,
): ReadonlyMap<ActionName, Action> {
  if (bug !== 'one_owner_is_called_twice_at_once') return actions;
  return new Map([...actions].map(([name, action]) => [name, ownerless(action)]));
}

function ownerless(action: Action): Action {
  return {
    ...action,
    readBack: async (...given) => {
      const back = await action.readBack(...given);
      return { ...back, records: back.records.map(({ Emails, ...record }): Facts => record) };
    },
  };
}
