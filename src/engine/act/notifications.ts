// act: the notifications of an intent that is done: written to the outbox with the intent's outcome, delivered afterwards.
import type { Action } from '../../domain/action.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Notification } from '../../domain/notification.ts';
import type { ActContext } from './context.ts';

/** One for each recipient; none for an intent that only goes to log, report and audit. */
export function notificationsOf(context: ActContext, action: Action, intent: Intent): Notification[] {
  const { id, target, basis } = intent;
  const rules = [...new Set(basis.map(({ rule }) => rule))];
  return (action.recipients?.(intent.settings) ?? []).map((to) => ({
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
      matches: basis.map(({ rule, subjectId, facts }) => ({
        rule,
        kind: context.ruleNow(rule)?.subject ?? null,
        subject: subjectId,
        facts,
      })),
    },
  }));
}
