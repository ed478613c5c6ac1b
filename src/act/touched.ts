// act: whom an intent touches: its target, the serial number, the service and the bundle that the target names, its subjects and the
// owners. In: an intent, or what was just read of its target. Out: names, of which two intents under way never share one. It reads
// nothing. INVARIANT: one name has one spelling here, whatever its case and its kind: sharing too much only makes an intent wait.
import type { KnownTraits, ReadBack } from '../domain/action.ts';
import { ownText, ownTexts } from '../domain/facts.ts';
import type { IntentDraft } from '../domain/intent.ts';

export type Touching = Pick<IntentDraft, 'action' | 'target' | 'settings' | 'basis' | 'effect'>;

export function touchedBy({ action, target, settings, basis, effect }: Touching, known: KnownTraits): Set<string> {
  const traits = known.get(action)?.target;
  const { devices, deletion } = effect;
  return namesOf([
    target,
    ...(traits?.parts?.(target) ?? []),
    ...(traits?.serialOf ? [traits.serialOf(target, settings)] : []),
    ...basis.map(({ subjectId }) => subjectId),
    ...devices.flatMap(({ owners }) => owners ?? []),
    ...(deletion?.owners ?? []),
    ...(deletion?.users ?? []),
  ]);
}

/** Owners by the records just read: a list of devices need not show them. */
export function ownersJustRead({ records, deletion }: ReadBack): Set<string> {
  const read = records.flatMap((record) => [...(ownTexts(record, 'Emails') ?? []), ownText(record, 'Email') ?? '']);
  return namesOf([...read, ...(deletion?.owners ?? [])]);
}

function namesOf(names: readonly string[]): Set<string> {
  return new Set(names.filter((name) => name !== '').map((name) => name.toLowerCase()));
}
