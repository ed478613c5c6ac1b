// harness: requests to an engine: runs of every kind, answers to plans, releases of targets. In: a living engine. Out:
// the operation, announced to the checker as its caller knows it. It may end at any await.

import { runCycle } from '../../src/cycle.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Mode } from '../../src/domain/mode.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { answerPlan } from '../../src/operator/answer-plan.ts';
import { applyPlan } from '../../src/operator/apply-plan.ts';
import { exempt } from '../../src/operator/exempt.ts';
import { releaseClaims } from '../../src/operator/release-claims.ts';
import { resolveIntent } from '../../src/operator/resolve-intent.ts';
import type { Engine } from '../../src/run/engine.ts';
import type { Checker } from './checker.ts';
import type { Dice } from './dice.ts';
import type { RuleShelf } from './happenings.ts';
import type { Ledger } from './ledger.ts';
import { PERSON, type People } from './people.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { isSlow } from './profile.ts';
import type { SimClock } from './sim-clock.ts';
import { isSo, verbOf } from './truth.ts';
import type { World } from './world.ts';

export type OperationName =
  | 'enforce'
  | 'dry-run'
  | 'approve'
  | 'chosen'
  | 'waiting'
  | 'apply'
  | 'reject'
  | 'release'
  | 'exempt'
  | 'resolve';

export interface Asking {
  clock: SimClock;
  checker: Checker;
  ledger: Ledger;
  world: World;
  shelf: RuleShelf;
  dice: Dice;
  people: People | undefined;
  bug: PlantedBug | undefined;
}

export async function operate(asking: Asking, engine: Engine, operation: OperationName): Promise<void> {
  switch (operation) {
    case 'apply':
      return answer(asking, engine, 'approve');
    case 'reject':
      return answer(asking, engine, 'reject');
    case 'dry-run':
    case 'approve':
      return run(asking, engine, operation);
    case 'enforce':
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

async function run(
  asking: Asking,
  engine: Engine,
  mode: Mode,
  more: { rules?: string[] | undefined; waitForDoubts?: boolean } = {},
): Promise<void> {
  const { clock, shelf, checker } = asking;
  const startMs = clock.trueMs;
  begin(asking, engine, 'run', mode);
  await runCycle(engine, {
    mode: asking.bug === 'dry_run_acts' && mode === 'dry-run' ? 'enforce' : mode,
    trigger: 'schedule',
    rules: more.rules,
    waitForDoubts: more.waitForDoubts ?? false,
  });
  if (!more.rules && shelf.isWhole) checker.looks.add(startMs);
  checkNothingUnderWay(asking);
}

/** A person answers the newest plan that waits, or continues an interrupted one; an approved one is applied at once, as the daemon does. */
async function answer(asking: Asking, engine: Engine, word: 'approve' | 'reject'): Promise<void> {
  const plan = await newestPlan(engine, ['pending', 'approved', 'interrupted']);
  if (!plan || engine.daemonMode !== 'enforce') return;
  const decided = plan.status === 'pending' ? await answerPlan(engine, plan.id, word, 'a person', undefined) : plan;
  if (decided.status === 'rejected' || word === 'reject') return;
  asking.checker.approvedPlans.add(plan.id);
  begin(asking, engine, 'apply', 'enforce');
  await applyPlan(engine, plan.id, 'a person');
}

async function newestPlan(engine: Engine, statuses: readonly Plan['status'][]): Promise<Plan | undefined> {
  for (const status of statuses) {
    const [plan] = await engine.store.plans({ status }, 1);
    if (plan) return plan;
  }
  return undefined;
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

/** An operator checks the platform and resolves a doubt, or lets it be attempted again. */
async function resolve({ checker, dice, clock, ledger, world }: Asking, engine: Engine): Promise<void> {
  const { store } = engine;
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

function begin({ shelf, clock, checker }: Asking, engine: Engine, name: 'run' | 'apply' | 'release', mode: Mode): void {
  const rules = new Map(shelf.current.map((rule) => [rule.id, rule.mode]));
  const ruleNow = (id: string) => shelf.current.find((rule) => rule.id === id);
  const { trueMs: startMs } = clock;
  checker.operation = {
    name,
    mode,
    startMs,
    daemonMode: engine.daemonMode,
    rules,
    modeNow: (id) => ruleNow(id)?.mode ?? 'off',
    rulesNow: () => ({ changedAtMs: shelf.changedAtMs, hashOf: (id) => ruleNow(id)?.hash }),
    lists: new Map(),
    requests: new Map(),
  };
}

/** An operation that ended without a crash leaves nothing half-done. */
function checkNothingUnderWay({ ledger, checker }: Asking): void {
  for (const { id, action, target, status } of ledger.unsettled())
    checker.report('unresolved', `intent ${id} (${action} ${target}) is ${status} after a whole run`);
}
