// operator: a person's yes to what joined an exemption after it was made. In: an exemption, and one of those that wait, or none for all of them.
// Out: what it covers from now on, too. Nothing is called.
import { AppError } from '../domain/errors.ts';
import { aboutText, type Exemption } from '../domain/exemption.ts';
import { membersOf } from '../domain/exemption-members.ts';
import { type Identity, identityText, nameKey } from '../domain/identity.ts';
import { checked, demandInForce, type Operator, type OperatorEngine } from './commands.ts';
import { filled } from './filled.ts';

export interface Confirmed {
  exemption: Exemption;
  /** For people. Names in it are as they came: escape it where it is shown. */
  confirmed: string[];
}

/** Errors: AppError `not_found`, `usage` for an ambiguous beginning or name, `conflict` when the exemption is over, or nothing of this name waits. */
export async function confirmJoined(
  { store, clock }: OperatorEngine,
  idOrPrefix: string,
  operator: Operator & { subject?: string | undefined },
): Promise<Confirmed> {
  const { by, reason } = checked(operator);
  const exemption = await demandInForce(store, idOrPrefix, clock.nowMs());
  const waiting = (await store.joinedLater(exemption, Number.POSITIVE_INFINITY)).some;
  if (waiting.length === 0)
    throw new AppError('conflict', `nothing has joined exemption ${exemption.id}: nothing waits`);
  const chosen = operator.subject === undefined ? waiting : [chosenOf(waiting, exemption, operator.subject)];
  const confirmed = chosen.map(identityText);
  const some = chosen.slice(0, NAMED_MAX).map(({ kind, id, serial }) => ({ kind, id, serial }));
  const body = { exemption: exemption.id, about: aboutText(exemption), by, reason, count: chosen.length, some };
  await store.addExemptionMembers(exemption.id, membersOf(chosen), [{ kind: 'exemption.confirmed', body }]);
  return { exemption, confirmed };
}

/** What the audit names of very many. */
const NAMED_MAX = 1_000;

/** By id or serial number: whoever joins chooses its name. */
function chosenOf(waiting: readonly Identity[], { id }: Exemption, given: string): Identity {
  const name = filled(given, 'subject', 'name one of those that wait');
  const named = waiting.filter((one) => one.id === name || nameKey(one.serial) === nameKey(name));
  const [first, ...others] = named.length > 0 ? named : waiting.filter((one) => nameKey(one.id) === nameKey(name));
  if (first === undefined)
    throw new AppError('conflict', `\`${name}\` is no id or serial number of what waits for exemption ${id}`);
  if (others.length > 0)
    throw new AppError('usage', `\`${name}\` names ${named.length}: ${named.map(identityText).join('; ')}: give an id`);
  return first;
}
