// run: what is kept of a record of which rules read little. In: a record, and the paths that are read. Out: those properties alone.
import { type Facts, own } from '../domain/facts.ts';

export function project(record: Facts, paths: readonly string[]): Facts {
  const kept: Facts = {};
  for (const path of paths) {
    const top = path.split('.')[0] as string;
    const value = own(record, top);
    if (value !== undefined)
      Object.defineProperty(kept, top, { value, enumerable: true, configurable: true, writable: true });
  }
  return kept;
}
