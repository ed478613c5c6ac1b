// operate: adds an exemption and, on request, releases the open claims on the targets that it protects.
// In: a person's request. Out: the exemption and what was released. Without `release`, bans in force stay.

import { targetKey } from '../../domain/action.ts';
import type { Claim } from '../../domain/episode.ts';
import { AppError } from '../../domain/errors.ts';
import { aboutText, type Covered, coveredBy, type Exemption, membersOf } from '../../domain/exemption.ts';
import { type Identity, identityText, nameKey } from '../../domain/identity.ts';
import { type Operator, type Released, saidIn, stopText } from '../../domain/operator.ts';
import { RunCounts } from '../act/door.ts';
import { type Approving, demandOwner } from '../run/approvers.ts';
import type { Engine } from '../run/engine.ts';
import { exemptionOf } from '../run/pulled-snapshot.ts';
import { addExemption, checked, demandInForce, type ExemptionAsked, filled, type OperatorEngine } from './commands.ts';
import { releaseClaims } from './release.ts';

interface Exempted {
  exemption: Exemption;
  /** Undefined: it cannot be known. */
  covers: Covered | undefined;
  released: Released[];
}

/** From all rules: so one of the owners of each. */
export const EXEMPTS = 'an exemption is from all rules';

/** Errors: AppError `usage`, `not_found`, `conflict` for none of the owners; with `release` also `conflict` while stopped, and those of releaseClaims, after it is recorded. */
export async function exempt(
  engine: Engine,
  request: ExemptionAsked & { release?: boolean },
  by: string,
  groups?: string[],
): Promise<Exempted> {
  demandOwner(engine, { by, groups }, EXEMPTS);
  const stop = request.release ? await engine.store.stop() : undefined;
  if (stop) throw new AppError('conflict', `${stopText(stop)}; nothing can be released before \`resume\``);
  const exemption = await addExemption(engine, request, by);
  const covers = await coveredBy(engine.store, exemption);
  const released: Released[] = [];
  if (request.release) {
    const reason = `exemption ${exemption.id}: ${request.reason}`;
    const counts = new RunCounts(undefined);
    for (const claim of await protectedClaims(engine, exemption)) {
      released.push(...(await releaseClaims(engine, claim, { ...saidIn(request), by, groups, reason }, counts)));
    }
  }
  return { exemption, covers, released };
}

/** One claim for each target that this exemption protects. Each target is read now. */
async function protectedClaims(engine: Engine, exemption: Exemption): Promise<Claim[]> {
  const { claims } = await engine.store.openState(engine.clock.nowMs());
  const found: Claim[] = [];
  const byTarget = new Map<string, Claim[]>();
  for (const claim of claims) {
    const key = targetKey(claim, engine.actions);
    byTarget.set(key, [...(byTarget.get(key) ?? []), claim]);
  }
  for (const basis of byTarget.values()) {
    const claim = basis.at(-1) as Claim;
    const action = engine.actions.get(claim.action);
    if (!action) continue;
    const { records } = await action.readBack(engine.api, claim.target, {});
    const on = { action: claim.action, target: claim.target, basis };
    if ((await exemptionOf(engine, on, records, [exemption])).exemption) found.push(claim);
  }
  return found;
}

// A person's yes to what joined an exemption after it was made.

interface Confirmed {
  exemption: Exemption;
  /** For people. Names in it are as they came: escape it where it is shown. */
  confirmed: string[];
}

/** Errors: AppError `not_found`, `usage` for an ambiguous beginning or name, `conflict` when the exemption is over, or nothing of this name waits. */
export async function confirmJoined(
  engine: OperatorEngine & Pick<Approving, 'active'>,
  idOrPrefix: string,
  operator: Operator & { subject?: string | undefined },
): Promise<Confirmed> {
  const { store, clock } = engine;
  const { subject: asked, groups, ...given } = operator;
  demandOwner(engine, { by: given.by, groups }, EXEMPTS);
  const who = checked(given);
  const exemption = await demandInForce(store, idOrPrefix, clock.nowMs());
  const waiting = (await store.joinedLater(exemption, Number.POSITIVE_INFINITY)).some;
  if (waiting.length === 0)
    throw new AppError('conflict', `nothing has joined exemption ${exemption.id}: nothing waits`);
  const chosen = asked === undefined ? waiting : [chosenOf(waiting, exemption, asked)];
  const confirmed = chosen.map(identityText);
  const some = chosen.slice(0, NAMED_MAX).map(({ kind, id, serial }) => ({ kind, id, serial }));
  const body = { exemption: exemption.id, about: aboutText(exemption), ...who, count: chosen.length, some };
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
