// test: the ways in which a writing request arises. In: its intent, and what was requested of the engine. Out: the
// path.
import type { Intent } from '../../../src/domain/intent.ts';
import type { Operation } from './stage.ts';

export type Path = 'schedule' | 'trigger' | 'plan' | 'retry' | 'undo' | 'release' | 'check';
export type Requests = { [path in Path]: number };

export function noRequests(): Requests {
  return { schedule: 0, trigger: 0, plan: 0, retry: 0, undo: 0, release: 0, check: 0 };
}

export function pathOf({ doubtRetries, released, undo }: Intent, operation: Operation | undefined): Path {
  if (operation?.name === 'check') return 'check';
  if (doubtRetries > 0) return 'retry';
  if (released) return 'release';
  if (undo) return 'undo';
  if (operation?.name === 'apply') return 'plan';
  return operation?.chosen ? 'trigger' : 'schedule';
}
