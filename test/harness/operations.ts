// harness: requests to an engine: runs of every kind, releases of targets, resolved doubts. In: a living engine. Out:
// the operation, announced to the checker as its caller knows it. It may end at any await.

import type { Intent } from '../../src/domain/intent.ts';
import type { Mode } from '../../src/domain/rule.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { exempt } from '../../src/engine/operate/exempt.ts';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { restartRollout, resumeRollout } from '../../src/engine/operate/rollout.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { answer, answerPart, continueApproved, releaseRule } from './answers.ts';
import { type Asking, begin, type OperationName } from './asking.ts';
import { ROLLED } from './check-rollout.ts';
import { PERSON } from './people.ts';
import { isSlow } from './profile.ts';
import { isSo, verbOf } from './truth.ts';

export async function operate(asking: Asking, engine: Engine, operation: OperationName): Promise<void> {
  switch (operation) {
    case 'apply':
      return answer(asking, engine, 'approve');
    case 'reject':
      return answer(asking, engine, 'reject');
    case 'part':
      return answerPart(asking, engine);
    case 'continue':
      return continueApproved(asking, engine);
    case 'release-rule':
      return releaseRule(asking, engine);
    case 'look':
      return asking.watch?.once();
    case 'check':
      return asking.checker.again.press(asking, engine, asking.reads);
    case 'resume-rollout':
      await (asking.checker.rollouts.isBraked ? resumeRollout : restartRollout)(engine, ROLLED, PERSON);
      return;
    case 'dry-run':
    case 'approve':
      return run(asking, engine, operation);
    case 'enforce':
      asking.watch?.scheduledRunBegins();
      return run(asking, engine, 'enforce');
    case 'waiting':
      return run(asking, engine, 'enforce', { waitForDoubts: true });
    case 'release':
    case 'exempt':
      return letGo(asking, engine, operation);
    case 'resolve':
      return resolve(asking, engine);
    case 'chosen': {
      const chosen = asking.shelf.current.filter(() => asking.dice.chance(0.5)).map(({ id }) => id);
      return run(asking, engine, 'enforce', { rules: chosen.length > 0 ? chosen : undefined });
    }
  }
}

/** `trigger`: who asks for a whole run. */
export async function run(
  asking: Asking,
  engine: Engine,
  mode: Mode,
  more: { rules?: string[] | undefined; waitForDoubts?: boolean; trigger?: 'schedule' | 'watch' } = {},
): Promise<void> {
  const { clock, shelf, checker } = asking;
  const startMs = clock.trueMs;
  begin(asking, engine, 'run', mode);
  await runCycle(engine, {
    mode: asking.bug === 'dry_run_acts' && mode === 'dry-run' ? 'enforce' : mode,
    trigger: more.trigger ?? 'schedule',
    rules: more.rules,
    waitForDoubts: more.waitForDoubts ?? false,
  });
  if (!more.rules && shelf.isWhole) checker.looks.add(startMs);
  checkNothingUnderWay(asking);
}

/** An operator releases a claimed target, or adds an exemption that releases what it protects. */
async function letGo(asking: Asking, engine: Engine, how: 'release' | 'exempt'): Promise<void> {
  const { dice, people } = asking;
  const claims = [
    ...(await engine.store.claims({ status: 'standing' })),
    ...(await engine.store.claims({ status: 'orphaned' })),
  ];
  if (claims.length === 0 || !people) return;
  begin(asking, engine, 'release', 'enforce');
  if (how === 'release') await releaseClaims(engine, dice.pick(claims).target, PERSON);
  else {
    const request = {
      ...people.anybody(),
      unseen: true,
      owner: 'somebody',
      reason: PERSON.reason,
      until: '365d',
      release: true,
    };
    await exempt(engine, request, PERSON.by);
  }
}

/** A doubt that is older than this has had its effect, or never will. */
const SETTLED_MS = 60_000;
const SLOWLY_SETTLED_MS = 200_000;

/** An operator checks the platform and resolves a doubt, or lets it be attempted again; or retries what failed, or gives it up. */
async function resolve({ checker, dice, clock, ledger, world }: Asking, engine: Engine): Promise<void> {
  const { store } = engine;
  const failures = checker.profile.parts ? await store.openFailures() : [];
  if (failures.length > 0 && dice.chance(0.7)) {
    await resolveIntent(engine, dice.pick(failures).id, dice.chance(0.8) ? 'retry' : 'not-done', PERSON);
    return;
  }
  const open = [...(await store.intents({ outcome: 'unknown' })), ...(await store.intents({ outcome: 'parked' }))];
  const settledMs = isSlow(checker.profile) ? SLOWLY_SETTLED_MS : SETTLED_MS;
  const isOld = ({ id }: Intent) => (ledger.intents.get(id)?.sent.at(-1) ?? 0) < clock.trueMs - settledMs;
  const old = open.filter(isOld);
  if (old.length === 0) return;
  const { id, action, target } = dice.pick(old);
  const verb = verbOf(action, target);
  const last = world.effects.findLast((effect) => effect.target === target && effect.changed);
  const isDone = isSo(world.now, verb, target) && last?.request !== undefined;
  const as = dice.chance(0.5) ? 'retry' : isDone ? 'done' : 'not-done';
  await resolveIntent(engine, id, as, PERSON);
}

/** An operation that ended without a crash leaves nothing half-done. */
function checkNothingUnderWay({ ledger, checker }: Asking): void {
  for (const { id, action, target, status } of ledger.unsettled())
    checker.report('unresolved', `intent ${id} (${action} ${target}) is ${status} after a whole run`);
}
