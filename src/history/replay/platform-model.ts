// history: the platform of a what-if: recorded changes come in, those that hold there go out. A field that actions write has the last of what a
// person set, as recorded, and what the replay did; what Trustward's recorded intents did is left out. A deletion that a person approved stays:
// nothing more is recorded of its subject. INVARIANT: without acts it gives the record, less Trustward's own effects.
import { type ActionTraits, type KnownTraits, kindOfTarget, MEMBERSHIP, targetKey } from '../../domain/action.ts';
import type { Decision, Outcome } from '../../domain/decision.ts';
import type { Fact } from '../../domain/facts.ts';
import { type Intent, type IntentBasis, isDone, isInDoubt } from '../../domain/intent.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { ReplayedAct } from '../../domain/replay.ts';
import { isLive } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import { flagText, type SubjectKind } from '../../domain/subjects.ts';

/** What the model asks of the present facts, which its own output made. */
export interface ModelledWorld {
  factOf(kind: SubjectKind, id: string, path: string): Fact | undefined;
  isThere(kind: SubjectKind, id: string): boolean;
  /** Ids of its devices. */
  idsOfSerial(serial: string): readonly string[];
}

/** A person changed a target: `Banned` of a serial number is now `TRUE`. */
export interface PersonsChange {
  field: string;
  target: string;
  value: string;
}

/** A field that an act writes, with its value at that time. */
interface Reached extends Pick<FactChange, 'kind' | 'subject' | 'path'> {
  value: Fact | undefined;
}

interface Apart {
  recorded: Fact | undefined;
  model: Fact | undefined;
}

/** Of a field of a subject that a list lacked. */
interface Away extends Omit<Apart, 'recorded'> {
  /** What the record shows of it if nothing happened meanwhile. */
  expected: string | undefined;
  /** A list that was trusted then lacked it; otherwise only readings have shown it that were not trusted. */
  wasGone: boolean;
}

export class PlatformModel {
  /** By kind, the fields that actions write. */
  private readonly written = new Map<SubjectKind, Set<string>>();
  /** Where the model differs from the record: by subject, by field. */
  private readonly apart = new Map<string, Map<string, Apart>>();
  /** Where the model, or what was done last, differs from the record of a subject that the lists lack: by subject, by field. */
  private readonly away = new Map<string, Map<string, Away>>();
  /** Ids of those that kept an act of the replay while lists lacked them. */
  readonly kept = new Set<string>();
  /** What the model had before a gap, where the record changed meanwhile. */
  private readonly beforeGap = new Map<string, Fact | undefined>();

  constructor(
    private readonly traits: KnownTraits,
    private readonly effects: RecordedEffects,
    private readonly world: ModelledWorld,
  ) {
    for (const one of traits.values()) {
      const { fieldWritten } = one;
      if (fieldWritten === undefined || fieldWritten === MEMBERSHIP) continue;
      const kind = kindOfTarget(one);
      this.written.set(kind, (this.written.get(kind) ?? new Set()).add(fieldWritten));
    }
  }

  /** `stays`: of a trusted reading; any other change holds for one run. */
  seen(
    changes: Iterable<FactChange>,
    stays: (change: FactChange) => boolean,
  ): { changes: Iterable<FactChange>; people: PersonsChange[] } {
    const serials = new Map<string, Fact | undefined>();
    const written: FactChange[] = [];
    for (const change of changes) {
      const { kind, subject, path, value } = change;
      if (this.isWritten(kind, path)) written.push(change);
      else if (path === '' && stays(change)) this.goes(change);
      else if (kind === 'device' && path === 'SerialNumber') serials.set(subject, value);
    }
    const people = new Map<string, PersonsChange>();
    const held: FactChange[] = [];
    const later: FactChange[] = [];
    for (const change of written) {
      if (this.world.isThere(change.kind, change.subject))
        held.push(...this.known(change, this.targetOf(change, serials), stays(change), people));
      else later.push(change);
    }
    for (const change of later) held.push(this.fresh(change, this.targetOf(change, serials), stays(change)));
    return { changes: { [Symbol.iterator]: () => this.modelled(changes, held) }, people: [...people.values()] };
  }

  /** What no action writes is as it was recorded. */
  private *modelled(changes: Iterable<FactChange>, held: readonly FactChange[]): Generator<FactChange> {
    for (const change of changes) if (!this.isWritten(change.kind, change.path)) yield change;
    yield* held;
  }

  /** A person took a recorded act back before anybody read it: what the record has holds again. */
  reversed(unseen: readonly UnseenEffect[]): { changes: FactChange[]; people: PersonsChange[] } {
    const people = new Map<string, PersonsChange>();
    const changes = unseen.flatMap(({ field, target, seenOn }) => {
      const writing = [...this.traits.values()].find(({ fieldWritten }) => fieldWritten === field);
      return this.subjectsOf(writing?.name ?? '', target).flatMap(({ kind, subject, path }): FactChange[] => {
        const fields = this.apart.get(subjectOf({ kind, subject }));
        const apart = fields?.get(path);
        const value = flag(apart?.recorded);
        if (!fields || !apart || value === undefined || seenOn.has(subject)) return [];
        fields.delete(path);
        people.set(`${field} ${target}`, { field, target, value });
        return [{ kind, subject, path, value: apart.recorded }];
      });
    });
    return { changes, people: [...people.values()] };
  }

  /** Facts of a new beginning after a gap: the replay's acts stay, except where the record has another value than before. */
  restated(changes: readonly FactChange[]): FactChange[] {
    return changes.map((change) => {
      const fields = this.apart.get(subjectOf(change));
      const apart = fields?.get(change.path);
      if (!fields || !apart) return change;
      if (flag(apart.recorded) === flag(change.value)) return { ...change, value: apart.model };
      this.beforeGap.set(`${subjectOf(change)}\u0000${change.path}`, apart.model);
      fields.delete(change.path);
      return change;
    });
  }

  /** What recorded intents did within a gap is taken back, as far as their claims show it. */
  afterGap(claims: readonly { action: string; target: string; openedAt: number }[], fromMs: number): FactChange[] {
    const changes = claims.flatMap(({ action, target, openedAt }): FactChange[] => {
      const traits = this.traits.get(action);
      const inverse = traits?.inverse === undefined ? undefined : this.traits.get(traits.inverse);
      if (!traits || !inverse || openedAt < fromMs) return [];
      return this.subjectsOf(action, target).flatMap(({ kind, subject, path }): FactChange[] => {
        const recorded = this.world.factOf(kind, subject, path);
        if (flag(recorded) !== traits.valueWritten) return [];
        const before = this.beforeGap.get(`${subjectOf({ kind, subject })}\u0000${path}`);
        const value = before ?? likeWritten(recorded, inverse.valueWritten);
        this.keepApart({ kind, subject, path }, recorded, value);
        return [{ kind, subject, path, value }];
      });
    });
    this.beforeGap.clear();
    return changes;
  }

  /**
   * What an act would change: every device of a serial number; undefined: no field of a subject. A list that the recorded run did not trust shows
   * some for that run alone: it is to be asked while that is seen.
   */
  reached({ action, target }: Pick<Intent, 'action' | 'target'>): Reached[] | undefined {
    const field = this.traits.get(action)?.fieldWritten;
    if (field === undefined || field === MEMBERSHIP) return undefined;
    return this.subjectsOf(action, target).map((one) => ({
      ...one,
      value: this.world.factOf(one.kind, one.subject, one.path),
    }));
  }

  /** What an act of the replay changes, of what it reached. */
  did(act: Pick<Intent, 'action' | 'target'>, reached = this.reached(act)): FactChange[] {
    const valueWritten = this.traits.get(act.action)?.valueWritten;
    return (reached ?? []).flatMap(({ kind, subject, path, value: seen }): FactChange[] => {
      if (!this.world.isThere(kind, subject)) {
        this.didAway({ kind, subject, path, value: seen }, likeWritten(seen, valueWritten));
        return [];
      }
      const before = this.world.factOf(kind, subject, path);
      const value = likeWritten(before, valueWritten);
      const recorded = this.apart.get(subjectOf({ kind, subject }))?.get(path);
      this.keepApart({ kind, subject, path }, recorded ? recorded.recorded : before, value);
      return [{ kind, subject, path, value }];
    });
  }

  private subjectsOf(action: string, target: string): { kind: SubjectKind; subject: string; path: string }[] {
    const traits = this.traits.get(action);
    const [kind, path] = [traits && kindOfTarget(traits), traits?.fieldWritten];
    if (kind === undefined || path === undefined || path === MEMBERSHIP) return [];
    const ids = kind === 'device' ? this.world.idsOfSerial(target) : [target];
    return ids.filter((id) => this.world.isThere(kind, id)).map((subject) => ({ kind, subject, path }));
  }

  private known(
    change: FactChange,
    target: string,
    stays: boolean,
    people: Map<string, PersonsChange>,
  ): readonly FactChange[] {
    const { path: field, value } = change;
    const now = flag(value);
    const why = this.effects.explains({ field, target }, now, change.subject, stays);
    if (why === 'ours') {
      if (stays) this.keepApart(change, value, this.world.factOf(change.kind, change.subject, field));
      return [];
    }
    if (stays) this.apart.get(subjectOf(change))?.delete(field);
    if (stays && why === undefined && now !== undefined)
      people.set(`${field} ${target}`, { field, target, value: now });
    return [change];
  }

  /** A subject that is new in the list: all devices of a serial number move together, in the record as in the model. */
  private fresh(change: FactChange, target: string, stays: boolean): FactChange {
    const { kind, path, value } = change;
    for (const id of kind === 'device' ? this.world.idsOfSerial(target) : []) {
      const model = this.world.factOf(kind, id, path);
      const apart = this.apart.get(subjectOf({ kind, subject: id }))?.get(path);
      if (id === change.subject || flag(apart ? apart.recorded : model) !== flag(value)) continue;
      this.keepApart(change, value, model);
      return { ...change, value: model };
    }
    return this.back(change, stays);
  }

  /** What was there is there again when the record has it as before: nothing shows that it was registered anew. */
  private back(change: FactChange, stays: boolean): FactChange {
    const { subject, path, value } = change;
    const fields = this.away.get(subjectOf(change));
    const away = fields?.get(path);
    if (!fields || !away) return change;
    if (stays) fields.delete(path);
    if (flag(value) !== away.expected) return change;
    if (stays && away.wasGone) this.kept.add(subject);
    if (stays) this.keepApart(change, value, away.model);
    return { ...change, value: away.model };
  }

  /** An act on what no trusted list has, and the list of this run had. */
  private didAway({ kind, subject, path, value }: Reached, model: Fact | undefined): void {
    const own = subjectOf({ kind, subject });
    const fields = this.away.get(own) ?? new Map<string, Away>();
    this.away.set(own, fields);
    const { expected, wasGone } = fields.get(path) ?? { expected: flag(value), wasGone: false };
    if (flag(model) === expected) fields.delete(path);
    else fields.set(path, { expected, wasGone, model });
  }

  /** The lists lack it from now on. */
  private goes({ kind, subject }: FactChange): void {
    const own = subjectOf({ kind, subject });
    const apart = this.apart.get(own);
    this.apart.delete(own);
    if (!this.world.isThere(kind, subject)) return;
    const target = this.targetOf({ kind, subject }, new Map());
    const fields = new Map<string, Away>();
    for (const path of this.written.get(kind) ?? []) {
      const model = this.world.factOf(kind, subject, path);
      const recorded = apart?.has(path) ? apart.get(path)?.recorded : model;
      const expected = this.effects.unseen({ field: path, target }, subject) ?? flag(recorded);
      if (expected !== flag(model)) fields.set(path, { expected, wasGone: true, model });
    }
    if (fields.size > 0 && !this.effects.isDeleted(target)) this.away.set(own, fields);
    else this.away.delete(own);
  }

  private keepApart(
    { kind, subject, path }: Pick<FactChange, 'kind' | 'subject' | 'path'>,
    recorded: Fact | undefined,
    model: Fact | undefined,
  ): void {
    const fields = this.apart.get(subjectOf({ kind, subject })) ?? new Map<string, Apart>();
    this.apart.set(subjectOf({ kind, subject }), fields);
    if (flag(recorded) === flag(model)) fields.delete(path);
    else fields.set(path, { recorded, model });
  }

  private targetOf(
    { kind, subject }: Pick<FactChange, 'kind' | 'subject'>,
    serials: ReadonlyMap<string, Fact | undefined>,
  ): string {
    if (kind !== 'device') return subject;
    return String(serials.get(subject) ?? this.world.factOf(kind, subject, 'SerialNumber') ?? '');
  }

  private isWritten(kind: SubjectKind, path: string): boolean {
    return this.written.get(kind)?.has(path) ?? false;
  }
}

function subjectOf({ kind, subject }: Pick<FactChange, 'kind' | 'subject'>): string {
  return `${kind}\u0000${subject}`;
}

function flag(value: Fact | undefined): string | undefined {
  return value === undefined ? undefined : flagText({ value }, 'value');
}

/** In the way in which the record has it: some servers send booleans. */
function likeWritten(before: Fact | undefined, value: string | undefined): Fact | undefined {
  return typeof before === 'boolean' ? value === 'TRUE' : value;
}

// The acts of a replay, with what became of each.

export interface DoneIntent {
  intent: Pick<Intent, 'action' | 'target' | 'settings' | 'undo' | 'basis' | 'effect'>;
  atMs: number;
  runSeq: number;
  decisionOf(id: string): Pick<Decision, 'subject' | 'subjectName'> | undefined;
}

/** Undone within this time: the rule flaps. */
const FLAP_MS = 3_600_000;

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
        subject: decision?.subject ?? { kind: traits ? kindOfTarget(traits) : 'device', id: subjectId },
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

// What Trustward itself did to the platform in the recorded past. In: the recorded open states, one after the other. Out: whether a
// recorded change of a target is the effect of a recorded intent: then it is no person's change, and a what-if leaves it out.

/** Of one field of a target, by the names of its action: `Banned` of a serial number. */
interface FieldOfTarget {
  field: string;
  target: string;
}

/** Done, and not shown by the records of all that it concerns. */
interface UnseenEffect extends FieldOfTarget {
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
