// test pull: an API that answers as the test sets, for behavior that the console lacks: a server that ignores its
// parameters, a list that differs from one attempt to the next. Everything else rejects, so that no unexpected request
// passes.
import { AppError } from '../../../src/domain/errors.ts';
import type { Api, Clock, EventQuery } from '../../../src/domain/ports.ts';

/** Stands still; tests that need another time set it. */
export function stillClock(nowMs = 1_800_000_000_000): Clock {
  return { nowMs: () => nowMs, monotonicMs: () => 0, sleep: () => Promise.resolve() };
}

export function scriptedApi(answers: Partial<Api>): Api {
  const base: Partial<Api> = { address: 'http://scripted.example', skewMs: () => 0, close: () => Promise.resolve() };
  return new Proxy({ ...base, ...answers } as Api, {
    get: (api, name) => Reflect.get(api, name) ?? (() => Promise.reject(unexpected(name))),
  });
}

function unexpected(name: string | symbol): AppError {
  return new AppError('internal', `the test did not expect a call of ${String(name)}`);
}

export interface LogOptions {
  /** The server never returns more at once than this. */
  pageMax?: number;
  ignores?: 'order' | 'after' | 'skip';
  /** The answer of the count; by default the number of events. */
  count?: number;
}

export interface ScriptedLog extends Api {
  /** The requests for the list, in order. */
  asked: EventQuery[];
}

/** An event log: values as they come over the wire, ordered by `created_at`; newest first by default. */
export function scriptedLog(log: { created_at: unknown }[], options: LogOptions = {}): ScriptedLog {
  const asked: EventQuery[] = [];
  const timeOf = (value: { created_at: unknown }) =>
    typeof value.created_at === 'number' ? value.created_at : Infinity;
  const api = scriptedApi({
    events: async (query) => {
      asked.push(query);
      const after = options.ignores === 'after' ? 0 : (query.afterMs ?? 0);
      const ascending = log.filter((value) => timeOf(value) >= after).sort((a, b) => timeOf(a) - timeOf(b));
      const found = query.order === 'ASC' && options.ignores !== 'order' ? ascending : ascending.reverse();
      const skip = options.ignores === 'skip' ? 0 : (query.skip ?? 0);
      return found.slice(skip, skip + Math.min(query.limit ?? 10, options.pageMax ?? 1_000));
    },
    countEvents: async () => options.count ?? log.length,
  });
  return Object.assign(api, { asked });
}
