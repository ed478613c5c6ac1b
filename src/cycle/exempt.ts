// cycle: an exemption is added, and when that is asked for, what stands on the targets that it protects is undone now.
// In: a person's request. Out: the exemption and what was released. Without `release` standing bans stay.
import { noCounts } from '../act/context.ts';
import { AppError } from '../domain/errors.ts';
import type { Exemption } from '../domain/exemption.ts';
import { stopText } from '../domain/steering.ts';
import type { Engine } from './engine.ts';
import { exemptionOf } from './exemption-of.ts';
import { type Released, releaseClaims } from './release-claims.ts';
import { addExemption, type ExemptionRequest } from './steer.ts';

export interface Exempted {
  exemption: Exemption;
  released: Released[];
}

/** Errors: AppError `usage`; with `release` also `conflict` while stopped, and those of releaseClaims, after it is recorded. */
export async function exempt(
  engine: Engine,
  request: ExemptionRequest & { release?: boolean },
  by: string,
): Promise<Exempted> {
  const stop = request.release ? await engine.store.stop() : undefined;
  if (stop) throw new AppError('conflict', `${stopText(stop)}; nothing can be released before \`resume\``);
  const exemption = await addExemption(engine, request, by);
  const released: Released[] = [];
  if (request.release) {
    const reason = `exemption ${exemption.id}: ${exemption.reason}`;
    const counts = noCounts();
    for (const target of await protectedTargets(engine, exemption)) {
      released.push(...(await releaseClaims(engine, target, { by, reason }, counts)));
    }
  }
  return { exemption, released };
}

/** Targets with open claims that this exemption protects, each read now. */
async function protectedTargets(engine: Engine, exemption: Exemption): Promise<string[]> {
  const { claims } = await engine.store.standing(engine.clock.nowMs());
  const targets: string[] = [];
  for (const target of new Set(claims.map((claim) => claim.target))) {
    const own = claims.filter((claim) => claim.target === target);
    const action = own[0] && engine.actions.get(own[0].action);
    if (!action) continue;
    const { records } = await action.readBack(engine.api, target, {});
    if (await exemptionOf(engine, { target, basis: own }, records, [exemption])) targets.push(target);
  }
  return targets;
}
