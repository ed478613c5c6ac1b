// history: the world of a replay: what the lists had at one time of the recorded past. In: facts of the beginning, then the changes of each
// run. Out: records, the fleet, joined records, owners who are exempt: all that judging and deciding of a run read beside its frame.
import { Exemptions, type OwnerFacts } from '../../decide/exemptions.ts';
import { type Facts, ownTexts } from '../../domain/facts.ts';
import { type Fleet, fleetDeviceOf } from '../../domain/fleet.ts';
import { giveWay } from '../../domain/give-way.ts';
import {
  type FactChange,
  isMomentary,
  type RecordedPart,
  type RecordedRun,
  type RunFrame,
} from '../../domain/recorded-history.ts';
import type { OpenState } from '../../domain/store.ts';
import { SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import { projectedOwner } from '../../run/kept-records.ts';
import { ExemptOwners } from './exempt-owners.ts';
import { type View, WorldKind, type WorldSubject } from './world-kind.ts';

export type Views = Record<SubjectKind, View & { key: string }>;

export class RecordedWorld {
  readonly kinds: Readonly<Record<SubjectKind, WorldKind>> = {
    device: new WorldKind('device'),
    user: new WorldKind('user'),
    service: new WorldKind('service'),
  };
  private readonly exemptOwners = new ExemptOwners();

  /** All facts anew: at the beginning, and after each gap. */
  async begin(facts: AsyncIterable<readonly FactChange[]>): Promise<void> {
    for (const kind of SUBJECT_KINDS) this.kinds[kind].empty();
    for await (const batch of facts) {
      this.change(batch);
      await giveWay();
    }
  }

  /** What holds from now on. */
  change(changes: Iterable<FactChange>): void {
    this.apply(changes, () => true);
  }

  /** The changes of a recorded run. Those of a reading that is not trusted hold until `restore`. */
  see({ frame, changes }: Pick<RecordedRun, 'frame' | 'changes'>): void {
    for (const kind of SUBJECT_KINDS) if (isMomentary(frame, kind)) this.kinds[kind].keep(subjectsOf(kind, changes));
    this.apply(changes, () => true);
    if (frame.part) this.hideUnjoined(frame.part);
  }

  /** A look finds by itself who is joined to its subjects: others, of before, are not there for it. */
  private hideUnjoined({ read, joined }: RecordedPart): void {
    if (!joined) return;
    const { device, user } = this.kinds;
    const found = new Set([...read, ...joined].map(keyOf));
    for (const { kind, id } of read) {
      const record = this.record(kind, id);
      const others =
        kind === 'user'
          ? (ownTexts(record, 'SerialNumbers') ?? []).flatMap((serial) => [...device.bySerial.of(serial)])
          : (ownTexts(record, 'Emails') ?? []).flatMap((email) => [...user.byEmail.of(email.toLowerCase())]);
      for (const { kind: other, id: otherId } of others) {
        if (found.has(keyOf({ kind: other, id: otherId }))) continue;
        this.kinds[other].keep([otherId]);
        this.kinds[other].remove(otherId);
      }
    }
  }

  /** A run that was decided before: what holds on of it. */
  seeAgain({ frame, changes }: Pick<RecordedRun, 'frame' | 'changes'>): void {
    this.apply(changes, (kind) => !isMomentary(frame, kind));
  }

  /** INVARIANT: what goes is applied before what comes: a list may take the place of an object, or an object that of a text. */
  private apply(changes: Iterable<FactChange>, isAsked: (kind: SubjectKind) => boolean): void {
    const { kinds } = this;
    for (const kind of SUBJECT_KINDS) kinds[kind].begin();
    let anyGoes = false;
    for (const { kind, path, subject, value } of changes) {
      if (value !== undefined || !isAsked(kind)) continue;
      if (path === '') kinds[kind].remove(subject);
      else anyGoes = true;
    }
    if (anyGoes)
      for (const change of changes)
        if (change.value === undefined && change.path !== '' && isAsked(change.kind)) kinds[change.kind].set(change);
    for (const change of changes)
      if (change.value !== undefined && isAsked(change.kind)) kinds[change.kind].set(change);
  }

  /** After each run. */
  restore(): void {
    for (const kind of SUBJECT_KINDS) this.kinds[kind].restore();
  }

  record(kind: SubjectKind, id: string): Facts | undefined {
    return this.kinds[kind].get(id)?.record;
  }

  /** As the readings of this run show records. */
  views({ shows }: Pick<RunFrame, 'shows'>): Views {
    const of = (kind: SubjectKind) => this.kinds[kind].view(shows.get(kind));
    return { device: of('device'), user: of('user'), service: of('service') };
  }

  /** The devices that this run read, as a pull keeps them. */
  fleet({ sources, part }: RunFrame, view: View, fieldsWritten: readonly string[]): Fleet {
    const { state, form, lists, trusted } = sources.devices;
    const { bySerial, byEmail } = this.kinds.device;
    const read = part && new Set(part.read.flatMap(({ kind, id }) => (kind === 'device' ? [id] : [])));
    const isRead = ({ id }: WorldSubject) => state === 'read' && (read === undefined || read.has(id));
    const tellsOwners = (form === 'unpaged' || lists === 'v2') && state === 'read' && trusted;
    return {
      hidesOwners: state === 'read' && form === 'paged' && lists !== 'v2',
      devicesOf: (serial) =>
        [...bySerial.of(serial)].filter(isRead).map((device) => fleetDeviceOf(view.of(device) as Facts, fieldsWritten)),
      serialsOf: (owners) => {
        if (!tellsOwners) return undefined;
        const serials = (owner: string) => [...byEmail.of(owner)].filter(isRead).map(serialOf);
        return new Map([...owners].map((owner) => [owner, new Set(serials(owner))] as const).filter(isAny));
      },
    };
  }

  /** Owners that some exemption covers by more than their address; none where this run read no users. */
  ownersExempt({ sources, run }: RunFrame, { exemptions }: Pick<OpenState, 'exemptions'>): OwnerFacts {
    if (sources.users.state !== 'read') return NOBODY;
    const inForce = new Exemptions(exemptions ?? [], run.startedAt);
    if (!inForce.asksForOwnerRecords) return NOBODY;
    return this.exemptOwners.of(inForce, exemptions ?? [], run.startedAt, this.kinds.user, projectedOwner);
  }

  /** Paths that nobody has recorded. */
  isRecorded(kind: SubjectKind, path: string): boolean {
    return this.kinds[kind].hasPath(path);
  }
}

const NOBODY: OwnerFacts = new Map();

function keyOf({ kind, id }: SubjectRef): string {
  return `${kind} ${id}`;
}

function serialOf({ record }: WorldSubject): string {
  return typeof record?.SerialNumber === 'string' ? record.SerialNumber : '';
}

function isAny([, serials]: readonly [string, ReadonlySet<string>]): boolean {
  return serials.size > 0;
}

function* subjectsOf(kind: SubjectKind, changes: Iterable<FactChange>): Iterable<string> {
  for (const change of changes) if (change.kind === kind) yield change.subject;
}
