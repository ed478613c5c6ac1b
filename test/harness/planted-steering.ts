// harness: more bugs planted on purpose: what people said is not heeded, time and the checkpoints outside are not looked at.
// In: the parts of a healthy engine. Out: the parts of a sick one. Nothing in the product knows of these.
import type { CheckpointFile } from '../../src/audit/checkpoint-file.ts';
import type { Action } from '../../src/domain/action.ts';
import type { SteadyTime } from '../../src/domain/steady-time.ts';
import type { Store } from '../../src/domain/store.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

export function unsteered(store: Store, bug: PlantedBug | undefined): Store {
  switch (bug) {
    case 'stop_is_ignored':
      return replaced(store, {
        stop: async () => undefined,
        standing: async (nowMs) => ({ ...(await store.standing(nowMs)), stop: undefined }),
      });
    case 'exemption_is_ignored':
      return replaced(store, { exemptions: async () => [] });
    default:
      return store;
  }
}

/** Calls what cannot be undone undoable, or what cannot be read back not done. */
export function hasty(action: Action, bug: 'irreversible_without_approval' | 'unreadable_is_not_done'): Action {
  if (bug === 'irreversible_without_approval') {
    return action.name === 'delete_device' ? { ...action, inverse: 'ban_device' } : action;
  }
  return {
    ...action,
    readBack: async (...given) => {
      const back = await action.readBack(...given);
      return back.state === 'unreadable' ? { ...back, state: 'otherwise' } : back;
    },
  };
}

export function sickTime(steady: SteadyTime, bug: PlantedBug | undefined): SteadyTime {
  if (bug !== 'quiet_period_by_wall_clock') return steady;
  return replaced(steady, { read: () => ({ ...steady.read(), sinceMs: Number.NEGATIVE_INFINITY }) });
}

export function sickFile(file: CheckpointFile, bug: PlantedBug | undefined): CheckpointFile {
  switch (bug) {
    case 'checkpoint_is_not_written':
      return replaced(file, { append: () => {} });
    case 'checkpoint_is_not_compared':
      return replaced(file, { lastLine: () => ({ missing: true, last: undefined }) });
    default:
      return file;
  }
}
