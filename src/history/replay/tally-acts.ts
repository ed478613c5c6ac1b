// history: the acts of a replay, with what became of each. In: intents that were done, changes that people made, in the order of time. Out: acts,
// how long each lasted, and whether a person did the same or took it back. An intent of several rules is an act of each.
import type { KnownTraits } from '../../domain/action.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Intent, IntentBasis } from '../../domain/intent.ts';
import type { ReplayedAct } from '../../domain/replay.ts';
import { targetKey } from '../../domain/target-key.ts';
import type { PersonsChange } from './platform-model.ts';

export interface DoneIntent {
  intent: Pick<Intent, 'action' | 'target' | 'settings' | 'undo' | 'basis' | 'effect'>;
  atMs: number;
  runSeq: number;
  decisionOf(id: string): Pick<Decision, 'subject' | 'subjectName'> | undefined;
}

/** Undone within this time: the rule flaps. */
export const FLAP_MS = 3_600_000;

export class TallyActs {
  readonly acts: ReplayedAct[] = [];
  /** Acts whose state is in force, and those on the same targets before them, by target. */
  private readonly open = new Map<string, ReplayedAct[]>();
  private readonly ofTarget = new Map<string, ReplayedAct[]>();
  /** Acts that the replay itself took back within the hour. */
  private readonly flapped = new Set<ReplayedAct>();

  constructor(private readonly traits: KnownTraits) {}

  did({ intent, atMs, runSeq, decisionOf }: DoneIntent): ReplayedAct[] {
    const { action, target, undo, basis, effect } = intent;
    const traits = this.traits.get(action);
    const key = targetKey(intent, this.traits);
    this.end(key, atMs, (act) => act.action === traits?.inverse, true);
    const owners = [...new Set(effect.devices.flatMap((device) => device.owners ?? []))];
    const byRule = new Map<string, IntentBasis>();
    for (const one of basis) if (!byRule.has(one.rule)) byRule.set(one.rule, one);
    const made = [...byRule.values()].map(({ rule, subjectId, decisionId }): ReplayedAct => {
      const decision = decisionOf(decisionId);
      return {
        atMs,
        runSeq,
        rule,
        subject: decision?.subject ?? { kind: traits?.subjects[0] ?? 'device', id: subjectId },
        subjectName: decision?.subjectName ?? '',
        action,
        target,
        ...(owners.length > 0 && { owners }),
        undo,
        lastedMs: undefined,
        isOver: false,
        personDidAtMs: undefined,
        personUndidAtMs: undefined,
      };
    });
    this.acts.push(...made);
    if (undo || traits?.fieldWritten === undefined) return made;
    this.open.set(key, [...(this.open.get(key) ?? []), ...made]);
    const name = `${traits.fieldWritten} ${target}`;
    this.ofTarget.set(name, [...(this.ofTarget.get(name) ?? []), ...made]);
    return made;
  }

  /** What a person changed, as it was first seen at this time. */
  people(changes: readonly PersonsChange[], atMs: number): void {
    for (const { field, target, value } of changes) {
      for (const act of this.ofTarget.get(`${field} ${target}`) ?? []) {
        if (this.traits.get(act.action)?.valueWritten === value) act.personDidAtMs ??= atMs;
        else if (!act.isOver) {
          act.personUndidAtMs = atMs;
          this.endOne(act, atMs);
        }
      }
    }
  }

  /** What was changed in a gap, by whom nobody knows: what it took back is over. */
  somebody(changes: readonly PersonsChange[], atMs: number): void {
    for (const { field, target, value } of changes) {
      for (const act of this.ofTarget.get(`${field} ${target}`) ?? [])
        if (!act.isOver && this.traits.get(act.action)?.valueWritten !== value) this.endOne(act, atMs);
    }
  }

  /** Those that are in force last until then. */
  finish(toMs: number): void {
    for (const act of [...this.open.values()].flat()) act.lastedMs = Math.max(0, toMs - act.atMs);
  }

  isFlap(act: ReplayedAct): boolean {
    return this.flapped.has(act);
  }

  private endOne(act: ReplayedAct, atMs: number): void {
    this.end(targetKey(act, this.traits), atMs, (one) => one === act, false);
  }

  private end(key: string, atMs: number, isEnded: (act: ReplayedAct) => boolean, byReplay: boolean): void {
    const open = this.open.get(key) ?? [];
    for (const act of open.filter(isEnded)) {
      act.isOver = true;
      act.lastedMs = Math.max(0, atMs - act.atMs);
      if (byReplay && act.lastedMs <= FLAP_MS) this.flapped.add(act);
    }
    this.open.set(
      key,
      open.filter((act) => !isEnded(act)),
    );
  }
}
