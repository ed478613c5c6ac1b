// evaluate: what a rule's condition reads. Filled by the checks, kept with the rule.
// In: nothing. Out: an empty record of reads. It never holds values, only paths and sources.
import type { Place } from './problem.ts';

/** What a rule's condition reads beyond its own record. Filled by the checks. */
export interface Reads {
  /** Paths of the subject's own record, `$spec` excluded. */
  record: Set<string>;
  /** Where each path of the subject's own record, `$spec` included, is first read. */
  places: Map<string, Place>;
  /** Paths of owners (users) and of a user's devices. */
  users: Set<string>;
  devices: Set<string>;
  unpaged: Set<'devices' | 'users'>;
  owners: boolean;
  joinedDevices: boolean;
  events: boolean;
  windowMs: number;
  /** Paths of the subject's own record that it looks back on, and how far, ms; Infinity for `previous`. */
  lookBack: Set<string>;
  lookBackMs: number;
}

export function noReads(): Reads {
  return {
    record: new Set(),
    places: new Map(),
    users: new Set(),
    devices: new Set(),
    unpaged: new Set(),
    owners: false,
    joinedDevices: false,
    events: false,
    windowMs: 0,
    lookBack: new Set(),
    lookBackMs: 0,
  };
}
