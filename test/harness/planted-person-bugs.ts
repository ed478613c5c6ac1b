// harness: more planted bugs: what people are promised is forgotten: the deadline, a message in doubt, a guard, whose undo it was, how often a device is
// read. In: the parts of a healthy engine. Out: the parts of a sick one. Nothing in the product knows of these.
import type { Guards } from '../../src/domain/guards.ts';
import type { NoticeBox } from '../../src/domain/notice.ts';
import { ALL, type Rollout } from '../../src/domain/rollout.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

export function forgetfulStore(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'deadline_is_ignored':
      return impatient(store);
    // What is in doubt looks as if a person had approved it.
    case 'retry_forgets_guards':
      return replaced(store, {
        intentsIn: async (state) => {
          const found = await store.intentsIn(state);
          return state === 'unknown' ? found.map((one) => ({ ...one, approved: true })) : found;
        },
      });
    // A plan's undo looks like a person's release of one target.
    case 'own_undo_brakes':
      return replaced(store, {
        openState: async (nowMs) => {
          const open = await store.openState(nowMs);
          return { ...open, intents: open.intents.map((one) => (one.released ? { ...one, planId: undefined } : one)) };
        },
      });
    case 'check_has_no_memory':
      return replaced(store, {
        runs: async (...given) =>
          (await store.runs(...given)).map(({ findings, ...run }) => ({
            ...run,
            findings: findings && { ...findings, check: undefined },
          })),
      });
    default:
      return store;
  }
}

/** Each notice was delivered long ago. */
function impatient(store: EngineStore): EngineStore {
  type Notices = NonNullable<Awaited<ReturnType<EngineStore['openState']>>['notices']>;
  const past = (notices: Notices): Notices =>
    new Map(
      [...notices].map(([episode, own]) => [
        episode,
        own.map((one) => ({ ...one, status: 'delivered' as const, dueAt: 0, deliveredAt: 0 })),
      ]),
    );
  const stateOf = async <S extends { notices?: Notices | undefined }>(state: Promise<S>) => {
    const { notices, ...rest } = await state;
    return { ...rest, notices: past(notices ?? new Map()) } as S;
  };
  return replaced(store, {
    openState: (nowMs) => stateOf(store.openState(nowMs)),
    openStateOf: (nowMs, about) => stateOf(store.openStateOf(nowMs, about)),
    noticesOf: async (episodes) => past(await store.noticesOf(episodes)),
  });
}

export function sickBox(box: NoticeBox, bug: PlantedBug | undefined): NoticeBox {
  if (bug !== 'message_in_doubt_is_sent_again') return box;
  return replaced(box, {
    end: (claimed, end, ...rest) =>
      box.end(claimed, end.how === 'doubt' ? { how: 'not_sent', why: end.why } : end, ...rest),
  });
}

export function sickGuards(guards: Guards | undefined, bug: PlantedBug | undefined): Guards | undefined {
  if (!guards || bug === 'guards_are_ignored') return undefined;
  if (bug === 'last_device_is_free') return { ...guards, lastDevice: false };
  return bug === 'day_has_no_bound' ? { ...guards, perDay: undefined } : guards;
}

export function sickRollout(rollout: Rollout | undefined, bug: PlantedBug | undefined): Rollout | undefined {
  return rollout && bug === 'share_is_ignored' ? { ...rollout, steps: [ALL] } : rollout;
}
