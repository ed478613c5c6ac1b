// history: what people changed of the fields that actions write, as the record shows it. In: the changes of a run, the facts before them. Out:
// changes that no recorded intent of Trustward explains.
import { fieldsWritten, type KnownTraits } from '../../domain/action.ts';
import { MEMBERSHIP } from '../../domain/bundles.ts';
import { ownText } from '../../domain/facts.ts';
import { isMomentary, type RecordedRun } from '../../domain/recorded-history.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import { flagText } from '../../domain/target.ts';
import type { PersonsChange } from './platform-model.ts';
import type { RecordedEffects } from './recorded-effects.ts';
import type { RecordedWorld } from './recorded-world.ts';

/** INVARIANT: the world has not seen the run yet. A subject that is new has been changed by nobody. */
export function peopleRecorded(
  { frame, changes }: RecordedRun,
  world: RecordedWorld,
  effects: RecordedEffects,
  traits: KnownTraits,
): PersonsChange[] {
  const found = new Map<string, PersonsChange>();
  const written = new Map(SUBJECT_KINDS.map((kind) => [kind, new Set(fieldsWritten(traits, kind))]));
  for (const { kind, subject, path: field, value } of changes) {
    if (!written.get(kind)?.has(field) || field === MEMBERSHIP || isMomentary(frame, kind)) continue;
    const record = world.record(kind, subject);
    const now = value === undefined ? undefined : flagText({ [field]: value }, field);
    if (!record || now === undefined || flagText(record, field) === now) continue;
    const target = kind === 'device' ? (ownText(record, 'SerialNumber') ?? '') : subject;
    if (effects.explains({ field, target }, now) === undefined)
      found.set(JSON.stringify([field, target]), { field, target, value: now });
  }
  return [...found.values()];
}
