// report: what a group of decisions affects, in devices and people. In: decisions. Out: counts, in which each device and person counts
// once, and the counts in words.

import type { SubjectRef } from '../domain/subjects.ts';
import { plural } from './fact-text.ts';
import type { ReportEffect } from './figures.ts';
import { grouped } from './grouped.ts';
import type { ReportDecision, RunDecision } from './report.ts';

export type EffectCounts = Omit<ReportEffect, 'rule' | 'action' | 'decision'>;

export function countEffect(
  decisions: readonly { subject: SubjectRef; effect: ReportDecision['effect'] }[],
): EffectCounts {
  const [devices, people, ownersUnknown] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { subject, effect } of decisions) {
    if (subject.kind === 'user') people.add(subject.id.toLowerCase());
    for (const { id, owners } of effect.devices) {
      devices.add(id);
      if (owners === undefined) ownersUnknown.add(id);
      for (const owner of owners ?? []) people.add(owner.toLowerCase());
    }
  }
  return {
    decisions: decisions.length,
    devices: devices.size,
    people: people.size,
    ownersUnknown: ownersUnknown.size,
  };
}

/** In the order of the decisions. */
export function effectsOf(decisions: readonly RunDecision[]): ReportEffect[] {
  return grouped(decisions, ({ rule, action, decision }) => `${rule} ${action} ${decision}`).map((group) => {
    const { rule, action, decision } = group[0] as RunDecision;
    return { rule, action, decision, ...countEffect(group) };
  });
}

/** `3 devices of 2 people`, `1 device (owners not known)`; undefined: neither devices nor people. */
export function effectWords({ devices, people, ownersUnknown }: EffectCounts): string | undefined {
  const persons = plural(people, 'person', 'people');
  if (devices === 0) return people === 0 ? undefined : persons;
  const unknown =
    ownersUnknown === 0
      ? ''
      : ownersUnknown === devices
        ? ' (owners not known)'
        : ` (owners of ${plural(ownersUnknown, 'device')} not known)`;
  return `${plural(devices, 'device')}${people === 0 ? '' : ` of ${persons}`}${unknown}`;
}
