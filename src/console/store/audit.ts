// console store: the event of a change that somebody made to what is no device and no service. In: who, what, and a sentence. Out: a row.
import { writeEvent } from './events.ts';
import type { Actor, ConsoleStore } from './store.ts';

export function writeAudit(store: ConsoleStore, actor: Actor, action: string, message: string): void {
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Resource',
    action,
    severity: 'INFO',
    message: `${message} by ${actor.name}`,
  });
}
