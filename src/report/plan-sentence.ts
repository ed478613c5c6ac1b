// report: what approving a plan allows, in verbs, people and devices. In: planned intents, and what each rule judges. Out: plain text
// without names from records.
import type { PlannedIntent } from '../domain/plan.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { plural } from './fact-text.ts';
import { grouped } from './grouped.ts';
import { actionWords, listed } from './sentence.ts';

export type KindOf = (rule: string) => SubjectKind | undefined;

/** `ban 12 devices of 9 people and disable 1 service. It deletes 2 users left without a device.` */
export function allowedWords(intents: readonly PlannedIntent[], kindOf: KindOf): string {
  const proposed = intents.flatMap(({ action, basis, effect }) =>
    basis.map(({ rule, subjectId }) => {
      const kind = kindOf(rule) ?? kindLike(subjectId, effect);
      return { action, effect, subject: { kind, id: subjectId } };
    }),
  );
  const deleted = new Set(intents.flatMap(({ effect }) => effect.deletion?.users ?? []));
  const also = deleted.size === 0 ? '' : ` It deletes ${plural(deleted.size, 'user')} left without a device.`;
  return `${listed(grouped(proposed, ({ action }) => action).map(actionWords))}.${also}`;
}

/** Of a rule that is not loaded any more. */
export function kindLike(id: string, { devices }: Pick<PlannedIntent['effect'], 'devices'>): SubjectKind {
  if (devices.some((device) => device.id === id)) return 'device';
  return id.includes('@') ? 'user' : 'service';
}
