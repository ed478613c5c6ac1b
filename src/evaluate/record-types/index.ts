// evaluate: which schema a subject's record has, and what `$owners`, `$devices` and `$spec` are.
import type { SubjectKind } from '../../domain/subjects.ts';
import { DEVICE } from './device.ts';
import { EVENT } from './event.ts';
import { listOf, type ValueType } from './field-types.ts';
import { SERVICE, SERVICE_SPEC } from './service.ts';
import { USER } from './user.ts';

/** The schema of a subject's record, or of an event. */
export function recordType(subject: SubjectKind | 'event'): ValueType & { kind: 'record' } {
  return { device: DEVICE, user: USER, service: SERVICE, event: EVENT }[subject];
}

/** The names beyond the record that a rule of this subject can read. */
export const VIRTUAL_NAMES: Record<SubjectKind | 'event', readonly string[]> = {
  device: ['$now', '$owners'],
  user: ['$now', '$devices'],
  service: ['$now', '$spec'],
  event: [],
};

/** `$now`: the time of the run. */
export const NOW_TYPE: ValueType = { kind: 'time', unit: 'ms' };

/** The type of a name that begins with `$` in a rule of this subject; `$now` is not a record, and `var` handles it. */
export function virtualType(subject: SubjectKind | 'event', name: string): ValueType | undefined {
  if (subject === 'device' && name === '$owners') return listOf(USER);
  if (subject === 'user' && name === '$devices') return listOf(DEVICE);
  if (subject === 'service' && name === '$spec') return SERVICE_SPEC;
  return undefined;
}
