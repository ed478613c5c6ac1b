// report: what approving a plan allows, in people, devices and verbs. In: planned intents, and what each rule judges. Out: plain text
// without names from records.
import type { PlannedIntent } from '../domain/plan.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { countText, plural } from './fact-text.ts';

export type KindOf = (rule: string) => SubjectKind | undefined;

/** `ban 12 devices of 9 people and disable 1 service. It deletes 2 users left without a device.` */
export function allowedWords(intents: readonly PlannedIntent[], kindOf: KindOf): string {
  const byAction = new Map<string, PlannedIntent[]>();
  for (const one of intents) {
    const same = byAction.get(one.action);
    if (same) same.push(one);
    else byAction.set(one.action, [one]);
  }
  const deleted = new Set(intents.flatMap(({ effect }) => effect.deletion?.users ?? []));
  const also = deleted.size === 0 ? '' : ` It deletes ${plural(deleted.size, 'user')} left without a device.`;
  return `${listed([...byAction.values()].map((same) => actionWords(same, kindOf)))}.${also}`;
}

/** The name of an action is its verb, and mostly the kind of its subjects. */
function actionWords(intents: readonly PlannedIntent[], kindOf: KindOf): string {
  const words = (intents[0]?.action ?? '').replaceAll('_', ' ');
  const [, verb, noun] = /^([a-z]+) (device|user|service)$/.exec(words) ?? [];
  const targets = new Set(intents.map(({ target }) => target)).size;
  const counted = affectedWords(intents, kindOf) ?? plural(targets, noun ?? 'target');
  return verb === undefined ? `${words} for ${counted}` : `${verb} ${counted}`;
}

/** `3 devices of 2 people`, `1 device (owners not known)`; each counts once. Undefined: neither devices nor people. */
function affectedWords(intents: readonly PlannedIntent[], kindOf: KindOf): string | undefined {
  const [devices, people, unknown] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { basis, effect } of intents) {
    for (const { rule, subjectId } of basis) if (kindOf(rule) === 'user') people.add(subjectId.toLowerCase());
    for (const { id, owners } of effect.devices) {
      devices.add(id);
      if (owners === undefined) unknown.add(id);
      for (const owner of owners ?? []) people.add(owner.toLowerCase());
    }
  }
  const persons = plural(people.size, 'person', 'people');
  if (devices.size === 0) return people.size === 0 ? undefined : persons;
  const of = people.size === 0 ? '' : ` of ${persons}`;
  if (unknown.size === 0) return `${plural(devices.size, 'device')}${of}`;
  const whose = unknown.size === devices.size ? 'owners' : `owners of ${countText(unknown.size)}`;
  return `${plural(devices.size, 'device')}${of} (${whose} not known)`;
}

/** `a, b and c`. */
function listed(parts: readonly string[]): string {
  const before = parts.slice(0, -1).join(', ');
  return `${before}${before === '' ? '' : ' and '}${parts.at(-1) ?? 'nothing'}`;
}
