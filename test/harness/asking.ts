// harness: what every request to an engine needs, and its announcement to the checker. In: a living engine. Out: the operation, as its
// caller knows it.
import type { Mode } from '../../src/domain/rule.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { failuresSinceWhole } from './check-together.ts';
import type { Checker, Operation } from './checker.ts';
import type { Dice } from './dice.ts';
import type { RuleShelf } from './happenings.ts';
import type { Ledger } from './ledger.ts';
import type { People } from './people.ts';
import type { PlantedBug } from './planted-bugs.ts';
import type { SimClock } from './sim-clock.ts';
import type { SimWatch } from './sim-watch.ts';
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
  | 'resolve'
  | 'part'
  | 'continue'
  | 'release-rule'
  | 'look'
  | 'check'
  | 'resume-rollout';

export interface Asking {
  clock: SimClock;
  checker: Checker;
  ledger: Ledger;
  world: World;
  shelf: RuleShelf;
  dice: Dice;
  people: People | undefined;
  bug: PlantedBug | undefined;
  watch: SimWatch | undefined;
  /** Records that the platform was asked for, so far. */
  reads(): number;
}

export function begin({ shelf, clock, checker }: Asking, engine: Engine, name: Operation['name'], mode: Mode): void {
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
    failures: name === 'look' || name === 'check' ? failuresSinceWhole(checker) : 0,
  };
}
