// decide: which proposals take the last device of a person, or more of theirs within 24 hours than `guards.yaml` allows. In: proposals, the
// fleet, the open state. Out: facts for the checks `last-device` and `devices-of-a-day`. Of several that only together are too many, always the
// same ones act: of the most severe rules, and then in the order of serial numbers. Pure.
import { DAY_MS } from '../../base/time.ts';
import { isTaken, type KnownTraits } from '../../domain/action.ts';
import type { TargetFacts } from '../../domain/check.ts';
import { guardsOf } from '../../domain/guards.ts';
import { isUnresolved } from '../../domain/intent.ts';
import { isOnTrial, type Mode } from '../../domain/rule.ts';
import { attemptOfKey, type OpenState } from '../../domain/store.ts';
import { type Fleet, type FleetDevice, SEVERITIES, type SubjectRef } from '../../domain/subjects.ts';
import type { DecideInput } from './input.ts';
import { add, isPlannable, ownersOf, type Proposal, serialHit } from './proposal.ts';

type Added = ReadonlyMap<Proposal, Partial<TargetFacts>>;

const HELD: ReadonlySet<string> = new Set(['guarded', 'last_device', 'devices_of_a_day']);

export function isHeldByGuards({ answer }: Proposal): boolean {
  return answer?.decision === 'hold' && HELD.has(answer.reason);
}

/** What was read does not name the owners of a device that it touches. */
export function areOwnersHidden({ devices }: Pick<Proposal, 'devices'>): boolean {
  return devices.some(({ owners }) => owners === undefined);
}

/** The devices of owners, as the list of a run shows them. */
export class OwnedDevices {
  private readonly known = new Map<string, ReadonlySet<string>>();

  constructor(
    private readonly fleet: Fleet,
    private readonly traits: KnownTraits,
  ) {}

  /** Looks all of them up at once: that reads the whole fleet. In lower case. Returns whether the list shows what they own. */
  know(owners: Iterable<string>): boolean {
    const asked = new Set([...owners].filter((owner) => !this.known.has(owner)));
    if (asked.size === 0) return true;
    const found = this.fleet.serialsOf(asked);
    for (const owner of found ? asked : []) this.known.set(owner, found?.get(owner) ?? new Set());
    return found !== undefined;
  }

  /** The serial numbers of an owner who was looked up. */
  of(owner: string): ReadonlySet<string> {
    return this.known.get(owner) ?? new Set();
  }

  /** Whether the owner has a device of this serial number that is not taken. */
  isFree(serial: string, owner: string): boolean {
    return this.fleet
      .devicesOf(serial)
      .some((device) => isOwnedBy(device, owner) && !isTaken(this.traits, (field) => device.state[field]));
  }
}

function isOwnedBy({ owners = [] }: FleetDevice, owner: string): boolean {
  return owners.some((one) => one.toLowerCase() === owner);
}

/** By serial number, the most severe first. */
function bySerial(proposals: readonly Proposal[]): [serial: string, Proposal[]][] {
  const groups = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    add(groups, serialHit(proposal) ?? '', proposal);
  }
  const severity = (group: readonly Proposal[]) =>
    Math.max(...group.map(({ rule }) => SEVERITIES.indexOf(rule.severity)));
  return [...groups].sort(([a, one], [b, other]) => severity(other) - severity(one) || (a < b ? -1 : 1));
}

function takes({ undo, traits }: Proposal): boolean {
  return !undo && traits.takesDevice === true;
}

/** A rule on trial counts for others on trial alone: first the live ones are weighed, then all of them for those on trial. */
function weighed(
  taking: readonly Proposal[],
  weigh: (
    group: readonly (readonly [string, Proposal[]])[],
    isTrial: boolean,
  ) => ReadonlyMap<string, Partial<TargetFacts>>,
): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  for (const isTrial of [false, true]) {
    const own = taking.filter(({ ownMode }) => isTrial || !isOnTrial(ownMode));
    if (!own.some(({ ownMode }) => isOnTrial(ownMode) === isTrial)) continue;
    const groups = bySerial(own);
    const facts = weigh(groups, isTrial);
    for (const [serial, group] of groups)
      for (const proposal of group) {
        const fact = facts.get(serial);
        if (fact && isOnTrial(proposal.ownMode) === isTrial) added.set(proposal, fact);
      }
  }
  return added;
}

/** What waits counts as taken: a person may say yes to it at any time. So does what Trustward did, or may have done, whatever the list shows. */
export function weighLastDevices(
  asked: readonly Proposal[],
  { proposals, input }: { proposals: readonly Proposal[]; input: DecideInput },
): Added {
  const taking = guardsOf(input.judged)?.lastDevice ? asked.filter(takes) : [];
  if (taking.length === 0) return new Map();
  const owned = new OwnedDevices(input.fleet, input.traits);
  const isShown = owned.know(taking.flatMap(ownersOf));
  const busy = takenNow(input);
  const held = [
    ...proposals.flatMap((one) =>
      takes(one) && one.answer?.decision === 'hold' && isPlannable(one.answer)
        ? { serial: serialHit(one), ownMode: one.ownMode }
        : [],
    ),
    ...heldBeside(input),
  ];
  return weighed(taking, (groups, isTrial) => {
    const waiting = held.filter(({ ownMode }) => isTrial || !isOnTrial(ownMode)).map(({ serial = '' }) => serial);
    const taken = new Set([...busy, ...waiting]);
    const facts = new Map<string, Partial<TargetFacts>>();
    for (const [serial, group] of groups) {
      taken.add(serial);
      const owner = group
        .flatMap(ownersOf)
        .find(
          (one) =>
            owned.isFree(serial, one) &&
            ![...owned.of(one)].some((other) => !taken.has(other) && owned.isFree(other, one)),
        );
      const isUnread = !isShown || group.some((one) => areOwnersHidden(one));
      if (isUnread) facts.set(serial, { lastDevice: 'unread' });
      else if (owner !== undefined) facts.set(serial, { lastDevice: { owner } });
    }
    return facts;
  });
}

export function weighDevicesOfDay(asked: readonly Proposal[], { input }: { input: DecideInput }): Added {
  const allowed = guardsOf(input.judged)?.perDay;
  const taking = allowed === undefined ? [] : asked.filter(takes);
  if (allowed === undefined || taking.length === 0) return new Map();
  const before = takenInDay(input);
  return weighed(taking, (groups) => {
    const taken = new Map<string, Set<string>>();
    const facts = new Map<string, Partial<TargetFacts>>();
    for (const [serial, group] of groups) {
      const owners = new Set(group.flatMap(ownersOf));
      const after = [...owners].map((owner) => {
        const devices = new Set([...(before.get(owner) ?? []), ...(taken.get(owner) ?? []), serial]);
        return { owner, devices };
      });
      const most = after.find(({ devices }) => devices.size > allowed);
      if (group.some((one) => areOwnersHidden(one))) facts.set(serial, { devicesOfDay: 'unread' });
      else if (most) facts.set(serial, { devicesOfDay: { owner: most.owner, devices: most.devices.size, allowed } });
      else for (const { owner } of after) taken.set(owner, (taken.get(owner) ?? new Set()).add(serial));
    }
    return facts;
  });
}

/** Where a few subjects are judged alone: what waits since earlier runs, of the others. */
function heldBeside({
  part,
  openState,
  said = part ? openState.decisions : [],
  judgements,
  activeRules,
  traits,
}: DecideInput): { serial: string | undefined; ownMode: Mode }[] {
  const judged = new Set(
    judgements.flatMap(({ matches, open }) => [...matches, ...open].map(({ summary }) => summary.id)),
  );
  const isOther = (subject: SubjectRef) => (part ? !part.hasRead(subject) : !judged.has(subject.id));
  return said.flatMap(({ rule, subject, action, target, decision, reason, reasonText }) => {
    const [own, ownMode] = [traits.get(action), activeRules.get(rule)?.mode];
    const isWaiting = decision === 'hold' && isPlannable({ decision, reason, reasonText }) && isOther(subject);
    if (!own?.takesDevice || !ownMode || !isWaiting) return [];
    return { serial: own.target.serialOf?.(target, {}) ?? target, ownMode };
  });
}

/** Serial numbers that Trustward has taken, or may have taken. */
function takenNow({ openState: { claims, intents }, traits }: Pick<DecideInput, 'openState' | 'traits'>): string[] {
  const isTaking = ({ action }: { action: string }) => traits.get(action)?.takesDevice === true;
  const doubts = intents.filter((intent) => intent.mode !== 'dry-run' && !intent.undo && isUnresolved(intent));
  return [...claims.map((one) => ({ ...one, settings: {} })), ...doubts]
    .filter(isTaking)
    .flatMap(({ action, target, settings }) => traits.get(action)?.target.serialOf?.(target, settings) ?? []);
}

/** By owner, the serial numbers that attempts of the last 24 hours were about. Of a device that is gone, its owners when that was decided. */
function takenInDay({
  openState,
  fleet,
  traits,
  nowMs,
}: Pick<DecideInput, 'openState' | 'fleet' | 'traits' | 'nowMs'>) {
  const found = new Map<string, Set<string>>();
  const decided = effectOwners(openState);
  for (const [key, atMs] of openState.lastAttempts) {
    const { action, target } = attemptOfKey(key);
    const own = traits.get(action);
    if (!own?.takesDevice || atMs <= nowMs - DAY_MS) continue;
    const { serial = target, owners = [] } = decided.get(`${action} ${target}`) ?? {};
    const now = fleet.devicesOf(serial).flatMap((device) => device.owners ?? []);
    for (const owner of [...now, ...owners]) {
      const email = owner.toLowerCase();
      found.set(email, (found.get(email) ?? new Set()).add(serial));
    }
  }
  return found;
}

function effectOwners({
  intents,
}: Pick<OpenState, 'intents'>): Map<string, { serial: string | undefined; owners: string[] }> {
  return new Map(
    intents.map(({ action, target, effect: { devices } }) => {
      const owners = devices.flatMap((device) => device.owners ?? []);
      return [`${action} ${target}`, { serial: devices[0]?.serial, owners }];
    }),
  );
}
