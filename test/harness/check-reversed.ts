// harness: judges a writing request against what a person reversed: done by one rule, reversed by a person, and done again by another rule whose
// match is older than the reversal. In: a writing request that is no undo, commits. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';
import { STALE_MAX_MS } from './profile.ts';
import { ACTION_OF, INVERSE_OF } from './truth.ts';

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
    const last = world.effects.findLast(
      (effect) => effect.changed && effect.target === target && (effect.verb === verb || effect.verb === reversal),
    );
    if (last?.verb !== reversal || last.request !== undefined || atMs - last.atMs <= STALE_MAX_MS) return;
    // What a person reversed of another person between two readings was never seen.
    const reversed = world.effects.findLast(
      (effect) => effect.changed && effect.target === target && effect.verb === verb && effect.atMs < last.atMs,
    );
    if (reversed?.request === undefined) return;
    const lives = [...ledger.intents.values()].filter((life) => life.target === target && life.id !== intent.id);
    const done = lives.flatMap(({ action, settled }) =>
      action === intent.action
        ? settled.filter(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed')
        : [],
    );
    const doneMs = Math.max(...done.map((one) => one.atMs).filter((one) => one < last.atMs));
    // What was undone by the engine too is judged with its claims.
    const isOwn = lives.some(
      ({ action, requests }) => action === ACTION_OF[reversal] && requests.some((one) => one.atMs > doneMs),
    );
    const isOld = intent.basis.every(({ episodeId }) => (this.openedMs.get(episodeId) ?? atMs) < last.atMs);
    if (Number.isFinite(doneMs) && isOld && !isOwn)
      this.checker.report(
        'against_a_person',
        `${intent.action} ${target}: a person reversed it, and its matches are older`,
      );
  }
}
