// harness: more planted bugs: operator commands, time and the checkpoints outside are ignored. In: the parts of a
// healthy engine. Out: the parts of a sick one. Nothing in the product knows of these.

import type { SteadyTime } from '../../src/base/time.ts';
import type { Action } from '../../src/domain/action.ts';
import { GENESIS } from '../../src/domain/audit-entry.ts';
import type { CheckpointStore } from '../../src/domain/checkpoint.ts';
import type { KeptLatency, QuietTime } from '../../src/domain/ports.ts';
import type { CheckpointFile } from '../../src/engine/audit/signing-key.ts';
import type { BelongingReader } from '../../src/engine/audit/sources.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import { readKeptLatency } from '../../src/store/intent-log.ts';
import { answered, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

/** Nothing that a person accepted is used up. */
const keepAll = { stop: undefined, ending: [], unused: [], accepted: [] };

export function unsteered(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'stop_is_ignored':
      return replaced(store, {
        stop: async () => undefined,
        openState: async (nowMs) => ({ ...(await store.openState(nowMs)), stop: undefined }),
      });
    case 'acceptance_stays':
      return replaced(store, {
        commitRun: ({ findings, ...commit }) =>
          store.commitRun({ ...commit, findings: { ...findings, operator: keepAll } }),
      });
    case 'exemption_is_ignored':
      return replaced(store, { exemptions: async () => [] });
    default:
      return store;
  }
}

const UNDOABLE = {
  irreversible_without_approval: { name: 'delete_device', inverse: 'ban_device' },
  update_without_approval: { name: 'update_service', inverse: 'disable_service' },
} as const;

/** Calls what cannot be undone undoable, or what cannot be read back not done. */
export function hasty(action: Action, bug: keyof typeof UNDOABLE | 'unreadable_is_not_done'): Action {
  if (bug !== 'unreadable_is_not_done') {
    const { name, inverse } = UNDOABLE[bug];
    return action.name === name ? { ...action, inverse } : action;
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

/** Doubts are resolved at once, or however slow the platform is. */
export function sickQuiet(quiet: QuietTime, bug: PlantedBug | undefined): QuietTime {
  if (bug !== 'quiet_period_is_skipped' && bug !== 'latency_is_ignored') return quiet;
  const read = () => {
    const period = quiet.read();
    return { ...period, ms: bug === 'latency_is_ignored' ? period.configuredMs : 0 };
  };
  return { ...quiet, read };
}

/** What an earlier process measured. */
export function keptLatency(db: SqliteDb, bug: PlantedBug | undefined): KeptLatency | undefined {
  return bug === 'latency_is_not_kept' ? undefined : answered(db, readKeptLatency);
}

/** Continues at once with a restored database, when it is accepted or, without its file outside, before. */
export function sickRestore<Kept extends CheckpointStore & EngineStore>(
  store: Kept,
  bug: PlantedBug | undefined,
): Kept {
  if (bug === 'lost_checkpoints_are_not_noticed') return replaced<Kept>(store, EMPTY as Partial<Kept>);
  if (bug !== 'restore_is_not_stopped') return store;
  const goOn: Partial<CheckpointStore> = {
    acceptRestore: async (given) => {
      const answer = await store.acceptRestore(given);
      await store.setStop(undefined, []);
      return answer;
    },
  };
  return replaced<Kept>(store, goOn as Partial<Kept>);
}

/** A database without an entry is new, and has nothing outside. */
const EMPTY: Partial<BelongingReader> = { auditHead: async () => ({ seq: 0, hash: GENESIS }) };

export function sickFile(file: CheckpointFile, bug: PlantedBug | undefined): CheckpointFile {
  switch (bug) {
    case 'checkpoint_is_not_written':
      return replaced(file, { append: () => {} });
    case 'checkpoint_is_not_compared':
      return replaced(file, { look: () => ({ ...file.look(), last: undefined }) });
    default:
      return file;
  }
}
