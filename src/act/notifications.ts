// act: what a `notify` intent tells a webhook: written to the outbox with the intent's outcome, delivered afterwards.
import { type Facts, own } from '../domain/facts.ts';
import type { Intent } from '../domain/intent.ts';
import type { Notification } from '../domain/notification.ts';
import type { ActContext } from './context.ts';

/** The webhooks that a rule's `with: { to: … }` names: one name, or several. */
export function recipientsOf(settings: Facts): string[] {
  const to = own(settings, 'to');
  return (Array.isArray(to) ? to : [to]).filter((name): name is string => typeof name === 'string');
}

/** One for each recipient; none for an intent that only goes to log, report and audit. */
export function notificationsOf(context: ActContext, intent: Intent): Notification[] {
  if (intent.action !== 'notify') return [];
  const { id, target, basis } = intent;
  const rules = [...new Set(basis.map(({ rule }) => rule))];
  return recipientsOf(intent.settings).map((to) => ({
    id: context.ids.next(),
    to,
    kind: 'notify',
    at: context.clock.nowMs(),
    text: `${rules.join(', ')}: ${target}`,
    about: {
      run: context.runId,
      intent: id,
      target,
      rules,
      matches: basis.map(({ rule, subjectId, facts }) => ({ rule, subject: subjectId, facts })),
    },
  }));
}
