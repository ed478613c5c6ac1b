// notify: the page that a message is about. In: a notification and the public address. Out: the address of its plan or subject; undefined
// when it is about neither, or about several. Ids come from outside: they are one segment of the path each.
import { type Fact, isFacts } from '../domain/facts.ts';
import type { Notification } from '../domain/notification.ts';

/** `publicUrl`: without a slash at its end. */
export function linkOf({ about }: Pick<Notification, 'about'>, publicUrl: string): string | undefined {
  if (typeof about.plan === 'string') return `${publicUrl}/plans/${encodeURIComponent(about.plan)}`;
  const subjects = new Set(subjectsIn(about).flatMap((path) => path ?? []));
  const [only] = subjects;
  return subjects.size === 1 ? `${publicUrl}/subjects/${only}` : undefined;
}

/** An alert has its subject, and a notification of rules its matches. */
function subjectsIn({ subject = null, matches = [] }: Notification['about']): (string | undefined)[] {
  const matched = Array.isArray(matches) ? matches.filter(isFacts) : [];
  return [
    isFacts(subject) ? pathOf(subject.kind, subject.id) : undefined,
    ...matched.map((match) => pathOf(match.kind, match.subject)),
  ];
}

function pathOf(kind: Fact | undefined, id: Fact | undefined): string | undefined {
  if (typeof kind !== 'string' || typeof id !== 'string') return undefined;
  return `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}
