// history: the world of a replay: what the lists had at one time of the recorded past. In: facts of the beginning, then the changes of each
// run. Out: records, the fleet, joined records, owners who are exempt: all that judging and deciding of a run read beside its frame.

import { timeText } from '../../base/time.ts';
import { giveWay } from '../../base/turns.ts';
import type { KnownTraits } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import { type Exemption, isInForce } from '../../domain/exemption.ts';
import { type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import type { Guards } from '../../domain/guards.ts';
import type { FactChange } from '../../domain/look-back.ts';
import {
  type HistoryGap,
  type HistoryQuery,
  type HistoryReader,
  isMomentary,
  type RecordedPart,
  type RecordedRun,
  type RunFrame,
} from '../../domain/recorded-history.ts';
import type { Replay, ReplayedUnread } from '../../domain/replay.ts';
import type { OpenState } from '../../domain/store.ts';
import {
  type Fleet,
  fleetDeviceOf,
  SOURCE_OF,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
} from '../../domain/subjects.ts';
import { Exemptions, type OwnerFacts } from '../../engine/decide/exemptions.ts';
import { projectedOwner, readsBundles, unpagedForActions } from '../../engine/run/reading-needs.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { type View, WorldKind, type WorldSubject } from './world-kind.ts';

// The users whom exemptions cover by their name or groups, kept from run to run.

class ExemptOwners {
  private about = '';
  private readonly owners = new Map<string, Facts>();
  private touched: Set<WorldSubject> | undefined;

  of(
    inForce: Exemptions,
    all: readonly Exemption[],
    guards: Guards | undefined,
    nowMs: number,
    users: WorldKind,
    projected: (record: Facts) => Facts,
  ): ReadonlyMap<string, Facts> {
    this.touched ??= users.touched();
    const exempted = all.flatMap((one) =>
      isInForce(one, nowMs) ? [[one.id, one.subject ?? null, one.selector ?? null]] : [],
    );
    const about = JSON.stringify([exempted, (guards?.ask ?? []).map(({ selector }) => selector)]);
    if (about !== this.about) for (const user of users.all) this.touched.add(user);
    this.about = about;
    for (const { id } of this.touched) {
      const email = id.toLowerCase();
      this.owners.delete(email);
      // Servers may list one address in two cases: the greater one counts, as in a pull.
      for (const { record } of [...users.byEmail.of(email)].sort((a, b) => (a.id < b.id ? -1 : 1)))
        if (record && inForce.concernsUser(record)) this.owners.set(email, projected(record));
    }
    this.touched.clear();
    return this.owners;
  }
}

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

  /** A look finds by itself who is joined to its subjects, and who shares their serial numbers: others, of before, are not there for it. */
  private hideUnjoined({ read, joined }: RecordedPart): void {
    if (!joined) return;
    const { device, user } = this.kinds;
    const found = new Set([...read, ...joined].map(keyOf));
    for (const { kind, id } of read) {
      const record = this.record(kind, id);
      const others =
        kind === 'user'
          ? (ownTexts(record, 'SerialNumbers') ?? []).flatMap((serial) => [...device.bySerial.of(serial)])
          : [
              ...(ownTexts(record, 'Emails') ?? []).flatMap((email) => [...user.byEmail.of(email.toLowerCase())]),
              ...(kind === 'device' ? device.bySerial.of(ownText(record, 'SerialNumber') ?? '') : []),
            ];
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

  /** The devices that this run read, as a pull keeps them; to a look, those that the last whole run read are known too. */
  fleet({ sources, part }: RunFrame, view: View, fieldsWritten: readonly string[]): Fleet {
    const { state, form, lists, trusted } = sources.devices;
    const { bySerial, byEmail } = this.kinds.device;
    const isRead = state === 'read';
    const tellsOwners = part !== undefined || ((form === 'unpaged' || lists === 'v2') && isRead && trusted);
    return {
      hidesOwners: isRead && form === 'paged' && lists !== 'v2',
      devicesOf: (serial) =>
        isRead ? [...bySerial.of(serial)].map((one) => fleetDeviceOf(view.of(one) as Facts, fieldsWritten)) : [],
      serialsOf: (owners) => {
        if (!tellsOwners) return undefined;
        const serials = (owner: string) => (isRead ? [...byEmail.of(owner)].map(serialOf) : []);
        return new Map([...owners].map((owner) => [owner, new Set(serials(owner))] as const).filter(isAny));
      },
    };
  }

  /** Owners that some exemption covers by more than their address; none where this run read no users. */
  ownersExempt(
    { sources, run }: RunFrame,
    { exemptions }: Pick<OpenState, 'exemptions'>,
    guards: Guards | undefined,
  ): OwnerFacts {
    if (sources.users.state !== 'read') return NOBODY;
    const inForce = new Exemptions(exemptions ?? [], run.startedAt, guards);
    if (!inForce.asksForOwnerRecords) return NOBODY;
    return this.exemptOwners.of(inForce, exemptions ?? [], guards, run.startedAt, this.kinds.user, projectedOwner);
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

// What rules read and the record does not have.

interface Unread {
  fromMs: number;
  toMs: number;
}

/** What a rule or its action is told: a source; who owns devices, and which devices users have; the members of bundles. */
type Need = ReplayedUnread['list'];

/** What of a frame shows what the run read. */
type ReadFrame = Pick<RunFrame, 'run' | 'part' | 'sources'>;

const JOINS = { devices: 'Emails', users: 'SerialNumbers' } as const;

const NEED_WORDS: Record<Need, string> = {
  devices: 'devices were',
  users: 'users were',
  services: 'services were',
  events: 'the event log was',
  Emails: 'the owners of devices were',
  SerialNumbers: 'the devices of users were',
  bundles: 'bundles were',
};

export class NeverRecorded {
  /** With the rules that need it. */
  private readonly needed = new Map<Need, string[]>();
  private readonly read = new Set<Need>();
  private readonly unread = new Map<Need, Unread>();
  /** In all. */
  private readonly missed = new Map<Need, Unread & { runs: number }>();
  private wholeRuns = 0;
  private readonly gaps: HistoryGap[] = [];

  constructor(
    private readonly rules: readonly LoadedRule[],
    traits: KnownTraits,
  ) {
    for (const rule of rules) {
      const joins = [...unpagedForActions([rule], traits)].map((source) => JOINS[source]);
      const bundles = readsBundles(rule.then, traits) ? (['bundles'] as const) : [];
      for (const need of new Set<Need>([...rule.sources, ...joins, ...bundles]))
        this.needed.set(need, [...(this.needed.get(need) ?? []), rule.id]);
    }
  }

  /** A run over all active rules reads what these need: other rules may need more. */
  run(frame: ReadFrame, areBundlesTold = true): void {
    const { startedAt, scoped } = frame.run;
    if (scoped || frame.part) return;
    this.wholeRuns += 1;
    for (const need of this.needed.keys()) {
      if (need === 'bundles' ? areBundlesTold : isTold(need, frame.sources)) {
        this.read.add(need);
        this.endUnread(need);
      } else {
        const { fromMs } = this.unread.get(need) ?? { fromMs: startedAt };
        this.unread.set(need, { fromMs, toMs: startedAt });
        const missed = this.missed.get(need) ?? { fromMs: startedAt, runs: 0 };
        this.missed.set(need, { fromMs: missed.fromMs, toMs: startedAt, runs: missed.runs + 1 });
      }
    }
  }

  /** What other rules or their actions need, and runs did not read. */
  unreadLists(): ReplayedUnread[] {
    return [...this.missed].map(([list, missed]) => {
      const found = { list, rules: [...(this.needed.get(list) ?? [])].sort(), ...missed, of: this.wholeRuns };
      return { ...found, text: textOf(found) };
    });
  }

  /** Stretches without a source that was read at other times. */
  finishGaps(): HistoryGap[] {
    for (const need of [...this.unread.keys()]) if (this.read.has(need)) this.endUnread(need);
    return this.gaps;
  }

  paths(world: RecordedWorld): Replay['neverRecorded'] {
    const rules = new Map<string, Set<string>>();
    const add = (path: string, rule: string) => rules.set(path, (rules.get(path) ?? new Set()).add(rule));
    for (const [need, ids] of this.needed) if (!this.read.has(need)) for (const id of ids) add(need, id);
    for (const { id, subject, reads } of this.rules) {
      const of: [SubjectKind, Iterable<string>][] = [
        [subject, reads.record],
        ['user', reads.users],
        ['device', reads.devices],
      ];
      for (const [kind, paths] of of) {
        if (!this.read.has(SOURCE_OF[kind])) continue;
        for (const path of paths) if (!world.isRecorded(kind, path)) add(path, id);
      }
    }
    return [...rules]
      .map(([path, ids]) => ({ path, rules: [...ids].sort() }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  private endUnread(need: Need): void {
    const stretch = this.unread.get(need);
    if (!stretch) return;
    this.unread.delete(need);
    const when = `from ${timeText(stretch.fromMs)} to ${timeText(stretch.toMs)}`;
    const ids = this.needed.get(need)?.join(', ');
    const then = need === 'Emails' || need === 'SerialNumbers' ? 'these waited then' : 'these could not be judged';
    const text = `${NEED_WORDS[need]} not read ${when}: no active rule needed that; rules that do: ${ids}; ${then}`;
    this.gaps.push({ ...stretch, cause: 'not_recorded', text });
  }
}

/** Before a replay: what these rules or their actions need, and recorded runs did not read. Members of bundles are left to the replay. */
export async function unreadLists(
  reader: Pick<HistoryReader, 'items'>,
  rules: readonly LoadedRule[],
  {
    fromMs,
    toMs,
    actions,
    signal,
  }: Pick<HistoryQuery, 'fromMs' | 'toMs'> & {
    actions: KnownTraits;
    signal?: AbortSignal | undefined;
  },
): Promise<ReplayedUnread[]> {
  const never = new NeverRecorded(rules, actions);
  for await (const item of reader.items({ fromMs, toMs, framesOnly: true })) {
    if (signal?.aborted) throw new AppError('stopped', 'the replay was stopped');
    if (item.kind === 'run') never.run(item.run.frame);
  }
  return never.unreadLists();
}

/** `users were not read by any of 12 runs: … is unknown for everybody; TRUSTWARD_RECORD=users has runs record them`. */
function textOf({ list, rules, runs, of, fromMs, toMs }: Omit<ReplayedUnread, 'text'>): string {
  const isAll = runs === of;
  const by = isAll ? 'by any recorded run' : `by ${runs} of ${of} runs, ${timeText(fromMs)} to ${timeText(toMs)}`;
  const [those, are] = [rules.map((rule) => `\`${rule}\``).join(', '), rules.length === 1 ? 'is' : 'are'];
  const isOfAction = list === 'Emails' || list === 'SerialNumbers';
  const what = isOfAction
    ? `${rules.length === 1 ? 'waits' : 'wait'}`
    : list === 'bundles'
      ? `cannot be judged`
      : `${are} unknown for everybody`;
  const todo =
    isOfAction || list === 'bundles'
      ? 'an active rule with this action, also in mode `dry-run`, has runs read it'
      : `\`TRUSTWARD_RECORD=${list}\` has runs record ${list === 'events' ? 'it' : 'them'} from now on`;
  return `${NEED_WORDS[list]} not read ${by}, so ${those} ${what}${isAll ? '' : ' then'}; ${todo}`;
}

/** Of version 1, only unpaged lists name owners, and the devices of users. */
function isTold(need: Exclude<Need, 'bundles'>, sources: RunFrame['sources']): boolean {
  if (need !== 'Emails' && need !== 'SerialNumbers') return sources[need].state !== 'skipped';
  const { state, form, lists } = sources[need === 'Emails' ? 'devices' : 'users'];
  return state !== 'skipped' && (form !== 'paged' || lists === 'v2');
}
