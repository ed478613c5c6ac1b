// history: what Trustward itself did to the platform in the recorded past. In: the recorded open states, one after the other. Out: whether a
// recorded change of a target is the effect of a recorded intent: then it is no person's change, and a what-if leaves it out.
import type { ActionTraits, KnownTraits } from '../../domain/action.ts';
import type { Outcome } from '../../domain/decision.ts';
import { type Intent, isDone, isInDoubt } from '../../domain/intent.ts';
import { isLive } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';

/** Of one field of a target, by the names of its action: `Banned` of a serial number. */
export interface FieldOfTarget {
  field: string;
  target: string;
}

/** Done, and not shown by the records of all that it concerns. */
export interface UnseenEffect extends FieldOfTarget {
  seenOn: ReadonlySet<string>;
}

interface Effect {
  /** As `flagText` reads it. */
  value: string;
  /** Undefined: only the decision shows that it was done, at some time before this run. */
  sentAt: number | undefined;
  /** Done before the stretch began: what it changed belongs to the state at the beginning. */
  isBefore: boolean;
  /** Trusted readings since, of a time that is not known. */
  readings: number;
  /** It was done after the last reading that did not show it. */
  isCertain: boolean;
  /** Ids of those whose record showed it. */
  seenOn: Set<string>;
}

/** Without its time: one reading may have been too early to show it, the next one is not. */
const READINGS_MAX = 2;

const HAD_EFFECT: ReadonlySet<Outcome | undefined> = new Set(['succeeded', 'confirmed', 'unknown']);

export class RecordedEffects {
  private readonly effects = new Map<string, Map<string, Effect>>();
  private known = new Set<string>();
  private readonly deleted = new Set<string>();
  private hasBegun = false;

  constructor(private readonly traits: KnownTraits) {}

  /**
   * The open state of the next run. `sinceMs`: after a gap, when it began: what was done earlier showed before it.
   */
  learn({ intents, decisions }: OpenState, isWhole: boolean, sinceMs: number | undefined): void {
    const there = new Set<string>();
    for (const intent of intents) {
      const key = `${intent.id} ${intent.attempts}`;
      there.add(intent.id).add(key);
      if (!isLive(intent.mode) || intent.released || intent.attempts === 0) continue;
      if (!HAD_EFFECT.has(intent.outcome) && intent.status !== 'sent') continue;
      if (!this.known.has(key)) this.add(key, intent, intent.sentAt, sinceMs, isDone(intent));
      // What is in doubt may show at any later time.
      if (!isInDoubt(intent)) this.known.add(key);
    }
    for (const { decision, mode, intentId, outcome, action, target, writtenAt } of decisions) {
      if (intentId === undefined || there.has(intentId) || decision !== 'act' || !isLive(mode)) continue;
      if (HAD_EFFECT.has(outcome) && !this.known.has(intentId))
        this.add(intentId, { action, target }, undefined, sinceMs, false, writtenAt);
      this.known.add(intentId);
    }
    if (isWhole) this.forgetOthers(there, decisions);
    this.hasBegun = true;
  }

  /** Undefined: it is no effect of ours. `before`: it belongs to the state at the beginning. `stays`: a trusted reading shows it. */
  explains(
    { field, target }: FieldOfTarget,
    value: string | undefined,
    subject = target,
    stays = true,
  ): 'ours' | 'before' | undefined {
    const found = [...(this.effects.get(keyOf(field, target))?.values() ?? [])].find((one) => one.value === value);
    if (stays) found?.seenOn.add(subject);
    return found && (found.isBefore ? 'before' : 'ours');
  }

  /** What was done to it last, where its record has not shown that yet. */
  unseen({ field, target }: FieldOfTarget, subject: string): string | undefined {
    const last = [...(this.effects.get(keyOf(field, target))?.values() ?? [])].at(-1);
    return last?.isCertain && !last.seenOn.has(subject) ? last.value : undefined;
  }

  /** Whether Trustward deleted it: what is there again is registered anew. */
  isDeleted(target: string): boolean {
    return this.deleted.has(target);
  }

  /** What this trusted reading of whole lists should show by now, and does not: a person took it back before anybody read it. */
  reversedUnseen(beganMs: number, quietMs: number): UnseenEffect[] {
    return [...this.effects].flatMap(([key, effects]): UnseenEffect[] => {
      const [field = '', ...target] = key.split('\u0000');
      const last = [...effects.values()].at(-1);
      if (!last?.isCertain || (last.sentAt ?? beganMs) + quietMs > beganMs) return [];
      return [{ field, target: target.join('\u0000'), seenOn: last.seenOn }];
    });
  }

  /** A trusted reading of whole lists is over that began then: what was sent before shows, or never will. */
  wereRead(beganMs: number, quietMs: number): void {
    for (const [key, effects] of this.effects) {
      for (const [id, effect] of effects) {
        effect.readings += 1;
        const isOver =
          effect.sentAt === undefined ? effect.readings >= READINGS_MAX : effect.sentAt + quietMs <= beganMs;
        if (isOver) effects.delete(id);
      }
      if (effects.size === 0) this.effects.delete(key);
    }
  }

  private add(
    id: string,
    { action, target }: Pick<Intent, 'action' | 'target'>,
    sentAt: number | undefined,
    sinceMs: number | undefined,
    isDone: boolean,
    atMs: number | undefined = sentAt,
  ): void {
    const traits = this.traits.get(action);
    if (traits?.removesTarget) this.deleted.add(target);
    if (!traits?.fieldWritten || (sinceMs !== undefined && (atMs ?? 0) < sinceMs)) return;
    const key = keyOf(traits.fieldWritten, target);
    const effects = this.effects.get(key) ?? new Map<string, Effect>();
    this.effects.set(key, effects);
    const isCertain = isDone && this.hasBegun && sinceMs === undefined && sentAt !== undefined;
    effects.set(id, {
      value: writtenBy(traits),
      sentAt,
      isBefore: !this.hasBegun,
      readings: 0,
      isCertain,
      seenOn: effects.get(id)?.seenOn ?? new Set(),
    });
  }

  private forgetOthers(there: Set<string>, decisions: OpenState['decisions']): void {
    for (const { intentId } of decisions) if (intentId !== undefined) there.add(intentId);
    this.known = new Set([...this.known].filter((key) => there.has(key)));
  }
}

function keyOf(field: string, target: string): string {
  return `${field}\u0000${target}`;
}

function writtenBy({ valueWritten }: ActionTraits): string {
  return valueWritten ?? '';
}
