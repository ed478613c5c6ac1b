// bench: the attackers. Each writes trust data for a while, or stands between the console and the engine; none has a credential of ours. In: an
// organization that has lived quietly. Out: what it does before each run, whom it is about, from which reading on it could matter, and what
// counts as naming it.
import type { StoredDecision } from '../../src/domain/decision.ts';
import type { Dice } from '../../test/harness/dice.ts';
import { HOUR_MS, type Lived, MINUTE_MS, type Organization, type TrueDevice } from './organization.ts';

export const KINDS = ['drift', 'freeze', 'replay', 'flip', 'serial', 'owner', 'flood', 'clock'] as const;
export type Kind = (typeof KINDS)[number];

/** What is shown to people after a run. */
export interface Shown extends Lived {
  /** In force, about those whom the attack is about. */
  decisions: StoredDecision[];
  /** What `why` says of each of them, as text. */
  why: string;
}

export interface Attack {
  variant: string;
  /** Whom it is about. */
  victims: TrueDevice[];
  /** Compromised, and banned by us, before it begins. */
  banned: boolean;
  runs: number;
  /** Before run `n`, from 0. True: from this reading on it could matter. */
  step(n: number): Promise<boolean> | boolean;
  /** It ends; what it wrote is reported as it is again. */
  end(): Promise<void> | void;
  isNamed(shown: Shown): boolean;
}

/** Undoing and clearing rest on at least so long. */
export const CLEAR_MS = 30 * MINUTE_MS;
export const KIOSK = 'KIOSK';
export const EXEMPT_PERSON = 'chief@acme.example';

export function attackOf(kind: Kind, org: Organization, exempt: TrueDevice): Attack {
  return { drift, freeze, replay, flip, serial, owner, flood, clock }[kind](org, org.dice, exempt);
}

type Make = (org: Organization, dice: Dice, exempt: TrueDevice) => Attack;

const someOf = (org: Organization, count: number, exempt: TrueDevice): TrueDevice[] => {
  const left = [...org.truth.values()].filter(({ id, ordinary }) => ordinary && id !== exempt.id);
  return Array.from({ length: count }, () => left.splice(org.dice.whole(0, left.length - 1), 1)[0] as TrueDevice);
};

/** So many the shipped rule acts on in one run. */
export const boundOf = (devices: number): number => Math.min(25, Math.ceil(devices * 0.02));

const isDistrusted = ({ run }: Lived, source: 'devices' | 'events' = 'devices') =>
  run.findings?.snapshot.sources[source].trusted === false;
const isAlerted = ({ alerts }: Shown, victims: readonly TrueDevice[], codes: readonly string[]) =>
  alerts.some(({ code, about, text }) => {
    const said = `${JSON.stringify(about)} ${text}`;
    return (
      codes.includes(code) ||
      (!code.startsWith('plan_') && victims.some(({ id, serial }) => said.includes(id) || said.includes(serial)))
    );
  });
/** The report of the run, or `why`, says of the device that the report is no evidence. */
const isDoubted = (shown: Shown) =>
  isDistrusted(shown) ||
  shown.decisions.some(({ reason }) => reason === 'older_report') ||
  /"reason":"older_report"/.test(shown.why);

/** `why` says since when it does not match, and when it is undone if that stays so. */
const isClearing = ({ why }: Shown) => /"clearing":\{"since"/.test(why);

/** A few more clean devices are reported as compromised in each run, never so many at once that one reading looks wrong. */
const drift: Make = (org, dice, exempt) => {
  const bound = boundOf(org.truth.size);
  const each = dice.whole(1, bound);
  const runs = dice.whole(8, 14);
  const victims = someOf(org, Math.min(each * runs, Math.floor(org.truth.size / 2)), exempt);
  let flipped = 0;
  const done = new Set<string>();
  return {
    variant: `${each} a run`,
    victims,
    banned: false,
    runs,
    step(n) {
      for (const { id } of victims.slice(n * each, (n + 1) * each)) {
        org.poisoned.add(id);
        done.add(id);
        flipped += 1;
      }
      for (const id of done)
        if (dice.chance(0.3) || n * each <= done.size)
          org.write(id, { mdm_compromised: 'TRUE', mdm_timestamp: org.ns() });
      return flipped > 2 * bound;
    },
    end: () => recover(org, victims),
    isNamed: (shown) =>
      isDistrusted(shown) ||
      shown.decisions.some(
        ({ decision, reason }) => decision === 'hold' && (reason === 'limits' || reason === 'ceiling'),
      ),
  };
};

/** The lists stand still, and in one half of the campaigns reads of single devices too. A ban of ours is hidden, or a compromise. */
const freeze: Make = (org, dice, exempt) => {
  const [hidden, later] = someOf(org, 2, exempt) as [TrueDevice, TrueDevice];
  const singles = dice.chance(0.5);
  const hidesBan = dice.chance(0.5);
  let since = 0;
  let seenMs = 0;
  const attack: Attack = {
    variant: `${singles ? 'all reads' : 'lists'}, ${hidesBan ? 'hides a ban' : 'hides a compromise'}`,
    victims: [hidden, later],
    banned: false,
    runs: 1,
    async step(n) {
      if (n === 0) {
        seenMs = await org.standsStillAfterMs();
        const lastingMs = Math.min(hidesBan ? 3 * HOUR_MS : seenMs + HOUR_MS, 24 * HOUR_MS);
        attack.runs = Math.max(8, Math.ceil(lastingMs / org.plan.everyMs));
      }
      if (n === 0 && hidesBan) compromise(org, hidden);
      if (n === 0) {
        org.api.frozen = { lists: await org.api.kept(), singles };
        since = org.nowMs;
      }
      if (n === 1 && !hidesBan) compromise(org, hidden);
      if (n === 2) compromise(org, later);
      return org.nowMs - since >= (hidesBan ? org.plan.everyMs : seenMs);
    },
    end() {
      org.api.frozen = undefined;
      for (const { id } of [hidden, later]) org.report(id);
    },
    // Our ban does not read back: it is in doubt, and parked for a person.
    isNamed: (shown) => isDistrusted(shown) || isAlerted(shown, [hidden], []),
  };
  return attack;
};

/** An older, clean report of a banned device comes again and again. */
const replay: Make = (org, dice, exempt) => {
  const victims = someOf(org, 1, exempt);
  const runs = dice.whole(4, Math.max(5, Math.min(14, Math.ceil((2 * HOUR_MS) / org.plan.everyMs))));
  const olderMs = dice.whole(1, 48) * HOUR_MS;
  const at = org.ns(-olderMs);
  return {
    variant: `${olderMs / HOUR_MS} h old`,
    victims,
    banned: true,
    runs,
    step() {
      for (const { id } of victims) poison(org, id, { mdm_compromised: 'FALSE', mdm_timestamp: at });
      return true;
    },
    end: () => recover(org, victims),
    isNamed: (shown) => isDoubted(shown) || isAlerted(shown, victims, []),
  };
};

/** A banned device is reported as clean for a moment, again and again: never as long as a clean device would be. */
const flip: Make = (org, dice, exempt) => {
  const victims = someOf(org, 1, exempt);
  const most = Math.max(1, Math.ceil(CLEAR_MS / org.plan.everyMs) - 1);
  const lasts = dice.whole(1, most);
  const times = dice.whole(1, 3);
  return {
    variant: `${lasts} runs, ${times} times`,
    victims,
    banned: true,
    runs: times * (lasts + 2),
    step(n) {
      const isClean = n % (lasts + 2) < lasts;
      for (const { id } of victims)
        poison(org, id, { mdm_compromised: isClean ? 'FALSE' : 'TRUE', mdm_timestamp: org.ns() });
      return true;
    },
    end: () => recover(org, victims),
    isNamed: (shown) => isDoubted(shown) || isClearing(shown) || isAlerted(shown, victims, ['flap']),
  };
};

/** A compromised device takes the serial number of an exempt one. */
const serial: Make = (org, dice, exempt) => {
  const victims = someOf(org, 1, exempt);
  const [victim] = victims as [TrueDevice];
  const before = dice.chance(0.5);
  return {
    variant: before ? 'before it is reported' : 'when it is reported',
    victims,
    banned: false,
    runs: dice.whole(4, 8),
    step(n) {
      if (n === 0) org.write(victim.id, { serial: exempt.serial });
      if (n === (before ? 1 : 0)) compromise(org, victim);
      return victim.compromised;
    },
    end() {
      org.write(victim.id, { serial: victim.serial });
      org.report(victim.id);
    },
    isNamed: (shown) => isHeldAsNewcomer(shown) || isAlerted(shown, victims, []),
  };
};

/** An exempt person becomes its second owner, or it takes a name that a selector exempts. */
const owner: Make = (org, dice, exempt) => {
  const victims = someOf(org, 1, exempt);
  const [victim] = victims as [TrueDevice];
  const [byName, before] = [dice.chance(0.5), dice.chance(0.5)];
  return {
    variant: `${byName ? 'name' : 'second owner'}, ${before ? 'before it is reported' : 'when it is reported'}`,
    victims,
    banned: false,
    runs: dice.whole(4, 8),
    step(n) {
      if (n === 0 && byName) org.write(victim.id, { friendly_name: KIOSK });
      if (n === 0 && !byName) org.console.fleet.addOwner(victim.id, EXEMPT_PERSON);
      if (n === (before ? 1 : 0)) compromise(org, victim);
      return victim.compromised;
    },
    async end() {
      if (byName) org.write(victim.id, { friendly_name: 'Laptop 7' });
      else await org.removeOwner(victim.serial, EXEMPT_PERSON);
      org.report(victim.id);
    },
    isNamed: (shown) => isHeldAsNewcomer(shown) || isAlerted(shown, victims, []),
  };
};

/** Forged refusals of access, so that clean devices are banned: of a few in each run, or of many at once. */
const flood: Make = (org, dice, exempt) => {
  const bound = boundOf(org.truth.size);
  const each = dice.chance(0.5) ? dice.whole(1, bound) : dice.whole(3, 6) * bound;
  const runs = dice.whole(5, 9);
  const victims = someOf(org, Math.min(each * runs, Math.floor(org.truth.size / 2)), exempt);
  return {
    variant: `${each} a run`,
    victims,
    banned: false,
    runs,
    step(n) {
      for (const { id } of victims.slice(n * each, (n + 1) * each))
        for (let times = 0; times < 11; times += 1)
          org.console.fleet.addEvent({
            type: 'Access',
            subType: 'Connection',
            action: 'Unauthorized',
            severity: 'ERROR',
            deviceId: id,
          });
      return Math.min((n + 1) * each, victims.length) > 2 * bound;
    },
    end() {},
    isNamed: (shown) =>
      isDistrusted(shown) ||
      isDistrusted(shown, 'events') ||
      shown.decisions.some(({ decision, reason }) => decision === 'hold' && reason !== 'approval_needed'),
  };
};

/** Times that lie: the server's clock, reports of the future or of long ago. */
const clock: Make = (org, dice, exempt) => {
  const victims = someOf(org, 1, exempt);
  const variant = dice.pick(['server', 'future clean', 'never', 'future compromised'] as const);
  const runs = dice.whole(2, Math.max(2, Math.ceil(CLEAR_MS / org.plan.everyMs) - 1));
  const ahead = org.ns(dice.whole(1, 60) * 24 * HOUR_MS);
  const [victim] = victims as [TrueDevice];
  return {
    variant,
    victims,
    banned: variant === 'future clean' || variant === 'server',
    runs,
    step(n) {
      if (variant === 'server') org.api.skew = dice.pick([-1, 1]) * dice.whole(400_000, 9_000_000);
      if (variant === 'future clean') poison(org, victim.id, { mdm_compromised: 'FALSE', mdm_timestamp: ahead });
      if (variant === 'never') {
        if (n === 0) victim.compromised = true;
        poison(org, victim.id, { mdm_compromised: 'TRUE', mdm_timestamp: 0n });
      }
      if (variant === 'future compromised') {
        victim.compromised = true;
        poison(org, victim.id, { mdm_compromised: 'TRUE', mdm_timestamp: ahead });
      }
      return true;
    },
    end() {
      org.api.skew = 0;
      recover(org, victims);
    },
    isNamed: (shown) =>
      isDoubted(shown) ||
      isAlerted(shown, victims, []) ||
      /unknown/.test(shown.why) ||
      (variant === 'future clean' && /clear/.test(shown.why)),
  };
};

function isHeldAsNewcomer({ decisions }: Shown): boolean {
  return decisions.some(
    ({ decision, reason }) => decision === 'hold' && reason !== 'approval_needed' && reason !== 'limits',
  );
}

function compromise(org: Organization, device: TrueDevice): void {
  device.compromised = true;
  org.report(device.id);
}

function poison(org: Organization, id: string, fields: Parameters<Organization['write']>[1]): void {
  org.poisoned.add(id);
  org.write(id, fields);
}

function recover(org: Organization, victims: readonly TrueDevice[]): void {
  for (const { id } of victims) {
    org.poisoned.delete(id);
    org.report(id);
  }
}
