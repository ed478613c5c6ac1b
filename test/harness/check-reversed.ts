// harness: judges a writing request against what a person reversed: done by one rule, reversed by a person, and done again by another rule whose
// match is older than the reversal. In: a writing request that is no undo, commits. Out: violations.
import type { Outcome } from '../../src/domain/decision.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';
import { STALE_MAX_MS } from './profile.ts';
import { ACTION_OF, INVERSE_OF } from './truth.ts';
import type { Effect } from './world.ts';

const DONE: ReadonlySet<Outcome> = new Set(['succeeded', 'confirmed']);

export class Reversed {
  /** When an episode was first committed, in true time. */
  private readonly openedMs = new Map<string, number>();

  constructor(private readonly checker: Checker) {}

  onCommit(): void {
    const { ledger, clock } = this.checker;
    for (const { id } of ledger.db.all<{ id: string }>("SELECT id FROM episodes WHERE state <> 'closed'"))
      if (!this.openedMs.has(id)) this.openedMs.set(id, clock.trueMs);
  }

  onRequest({ verb, target, atMs }: PlatformRequest, intent: Intent): void {
    const { ledger, world } = this.checker;
    // Who approves it sees what it does.
    if (intent.approved) return;
    const reversal = INVERSE_OF[verb];
    const isOn = (effect: Effect) => effect.changed && effect.target === target;
    const at = world.effects.findLastIndex((effect) => isOn(effect) && [verb, reversal].includes(effect.verb));
    const last = world.effects[at];
    if (last?.verb !== reversal || last.request !== undefined || atMs - last.atMs <= STALE_MAX_MS) return;
    // Both may be of one millisecond.
    const reversed = world.effects.slice(0, at).findLast((effect) => isOn(effect) && effect.verb === verb);
    // What was of another person, or in doubt, is not known to be reversed.
    const lives = [...ledger.intents.values()].filter((life) => life.target === target && life.id !== intent.id);
    const own = lives.find(({ requests }) => requests.some(({ number }) => number === reversed?.request));
    const done = own?.settled.find(({ outcome, atMs: doneMs }) => DONE.has(outcome) && doneMs < last.atMs);
    if (!done) return;
    // What was undone by the engine too is judged with its claims.
    const isOwn = lives.some(
      ({ action, requests }) => action === ACTION_OF[reversal] && requests.some((one) => one.atMs > done.atMs),
    );
    const isOld = intent.basis.every(({ episodeId }) => (this.openedMs.get(episodeId) ?? atMs) < last.atMs);
    if (isOld && !isOwn)
      this.checker.report(
        'against_a_person',
        `${intent.action} ${target}: a person reversed it, and its matches are older`,
      );
  }
}
