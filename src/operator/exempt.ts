// operator: adds an exemption and, on request, releases the open claims on the targets that it protects.
// In: a person's request. Out: the exemption and what was released. Without `release`, bans in force stay.
import { RunCounts } from '../act/counts.ts';
import type { Claim } from '../domain/claim.ts';
import { AppError } from '../domain/errors.ts';
import type { Exemption } from '../domain/exemption.ts';
import { type Covered, coveredBy } from '../domain/exemption-covers.ts';
import { type Released, stopText } from '../domain/operator.ts';
import { targetKey } from '../domain/target-key.ts';
import type { Engine } from '../run/engine.ts';
import { exemptionOf } from '../run/exemption-of.ts';
import { addExemption, type ExemptionRequest } from './commands.ts';
import { releaseClaims } from './release-claims.ts';

export interface Exempted {
  exemption: Exemption;
  /** Undefined: it cannot be known. */
  covers: Covered | undefined;
  released: Released[];
}

/** Errors: AppError `usage`, `not_found`; with `release` also `conflict` while stopped, and those of releaseClaims, after it is recorded. */
export async function exempt(
  engine: Engine,
  request: ExemptionRequest & { release?: boolean },
  by: string,
): Promise<Exempted> {
  const stop = request.release ? await engine.store.stop() : undefined;
  if (stop) throw new AppError('conflict', `${stopText(stop)}; nothing can be released before \`resume\``);
  const exemption = await addExemption(engine, request, by);
  const covers = await coveredBy(engine.store, exemption);
  const released: Released[] = [];
  if (request.release) {
    const reason = `exemption ${exemption.id}: ${exemption.reason}`;
    const counts = new RunCounts(undefined);
    for (const claim of await protectedClaims(engine, exemption)) {
      released.push(...(await releaseClaims(engine, claim, { by, reason }, counts)));
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
