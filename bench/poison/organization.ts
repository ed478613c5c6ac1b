// bench: one organization that is attacked: the real console and the real engine over it, with the truth beside them. In: a seed, a number of
// devices. Out: it lives run by run on an injected clock, as an ordinary week goes; a copy of it lives on by itself. Only `truth` knows which
// device is compromised: what the console shows is what somebody reported.
import { copyFileSync, rmSync } from 'node:fs';
import { type Console, startConsole } from '../../src/console/console.ts';
import type { SeedOptions } from '../../src/console/seed/seed.ts';
import type { DeviceFields } from '../../src/console/store/device-changes.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { Alert } from '../../src/domain/notification.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { PLACEHOLDER_SERIALS } from '../../src/engine/decide/earlier-answers.ts';
import { acceptSnapshot, addExemption } from '../../src/engine/operate/commands.ts';
import { TRUST_DEFAULT } from '../../src/engine/pull/trust-gate.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { Alerts } from '../../src/runtime/notify/alerts.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import { Dice } from '../../test/harness/dice.ts';
import { alertsOf } from '../../test/support/alerts-of.ts';
import { type OnPlatform, silent, startOnPlatform } from '../../test/support/engine-on-platform.ts';
import { copyOf, freshDatabase } from '../../test/support/memory-database.ts';
import { START_MS } from '../../test/support/platform.ts';
import { ConsoleApi } from './console-api.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Of a copy: so that none is the same as one of before. */
const COPIED_IDS_FROM = 5_000_000;

export interface TrueDevice {
  id: string;
  serial: string;
  compromised: boolean;
  /** MDM has reported it, and its serial number is its own. */
  ordinary: boolean;
}

/** What one run did and what it told people. */
export interface Lived {
  run: RunRecord;
  alerts: Alert[];
  /** Writing requests of the engine in this run and while plans were applied. */
  calls: { ban: boolean; serial: string; byPlan: boolean }[];
}

export interface Plan {
  seed: number;
  devices: number;
  everyMs: number;
  rules: readonly LoadedRule[];
}

/** Small seeds would roll the same dice: the number and its digit take each other away. */
export const diceOf = (seed: number, name: string): Dice => new Dice(1_000_000 + seed, name);

/** As docs/operating.md says. */
const STILL = { changesMin: 20, firstWeek: 8, later: 3, leastMs: 30 * MINUTE_MS };

/** A share of the fleet reports in half an hour, at work and otherwise. */
const REPORTING = { work: 0.2, rest: 0.02 };

export class Organization {
  readonly truth = new Map<string, TrueDevice>();
  /** What the honest reports do not overwrite while somebody writes it. */
  readonly poisoned = new Set<string>();
  private reportedWrites = 0;
  private readonly admin: ConsoleApi;
  private lost = 0;
  private banned: string | undefined;

  private constructor(
    readonly plan: Plan,
    readonly dice: Dice,
    readonly console: Console,
    readonly api: ConsoleApi,
    readonly on: OnPlatform,
    private readonly alerts: Alerts,
    private readonly file: string,
    private readonly db: SqliteDb,
  ) {
    this.admin = new ConsoleApi(console, on.clock, 'an administrator');
  }

  /** `file`: of the console's database. */
  static async begin(plan: Plan, file: string): Promise<Organization> {
    const seed = { seed: plan.seed, devices: plan.devices, compromised: 0, events: 50, services: 4 };
    const made = await Organization.over(
      plan,
      diceOf(plan.seed, 'organization'),
      START_MS,
      file,
      freshDatabase(),
      seed,
    );
    await made.learnTruth();
    return made;
  }

  private static async over(
    plan: Plan,
    dice: Dice,
    nowMs: number,
    file: string,
    db: SqliteDb,
    seed?: SeedOptions,
  ): Promise<Organization> {
    const on = startOnPlatform({
      db,
      rules: [...plan.rules],
      settings: (given) => ({ ...given, trust: TRUST_DEFAULT }),
    });
    on.clock.now = nowMs;
    on.restart();
    let last = seed ? 0 : COPIED_IDS_FROM;
    on.engine.ids = {
      next: () => {
        last += 1;
        return String(last).padStart(8, '0');
      },
    };
    const console = await startConsole({ dbFile: file, clock: on.clock, log: silent, seed });
    const api = new ConsoleApi(console, on.clock);
    on.engine.api = api;
    return new Organization(plan, dice, console, api, on, alertsOf(on), file, db);
  }

  get nowMs(): number {
    return this.on.clock.now;
  }

  /** It lives on elsewhere; this one is not changed by that. Only while nothing runs. */
  async copy(file: string, dice: Dice): Promise<Organization> {
    await this.console.close();
    copyFileSync(this.file, file);
    const made = await Organization.over(this.plan, dice, this.nowMs, file, copyOf(this.db));
    for (const [id, device] of this.truth) made.truth.set(id, { ...device });
    await made.alerts.look();
    return made;
  }

  async end(): Promise<void> {
    await this.console.close();
    await this.on.close();
    rmSync(this.file, { force: true });
  }

  private async learnTruth(): Promise<void> {
    const devices = (await this.api.kept()).get('devices unpaged') as Facts[];
    const serials = new Map<unknown, number>();
    for (const { SerialNumber } of devices) serials.set(SerialNumber, (serials.get(SerialNumber) ?? 0) + 1);
    for (const { DeviceID, SerialNumber, MdmData, Banned } of devices) {
      const serial = String(SerialNumber);
      const isOwn =
        serials.get(SerialNumber) === 1 && serial !== '' && !PLACEHOLDER_SERIALS.includes(serial.toLowerCase());
      const isReported = Number((MdmData as Facts).Timestamp) > 0 && Banned === 'FALSE';
      this.truth.set(String(DeviceID), {
        id: String(DeviceID),
        serial,
        compromised: false,
        ordinary: isOwn && isReported,
      });
    }
  }

  /** A list of devices that stands still is named after so long: docs/operating.md has the rule. Infinite: nothing is usual yet. */
  async standsStillAfterMs(): Promise<number> {
    const after = [Infinity];
    for (const form of ['paged', 'unpaged']) {
      const moved = await this.on.store.movement('devices', form);
      for (const { changedAt, days, quietMs } of Object.values(moved?.signs ?? {})) {
        const changes = days.reduce((sum, day) => sum + day.changes, 0);
        const knownMs = changedAt - (moved?.firstAt ?? 0);
        if (knownMs < DAY_MS || changes < STILL.changesMin) continue;
        const rest =
          Math.max(...days.map((day) => day.quietMs)) * (knownMs < 7 * DAY_MS ? STILL.firstWeek : STILL.later);
        after.push(Math.max(STILL.leastMs, rest) - quietMs);
      }
    }
    return Math.min(...after);
  }

  /** What MDM reports of a device now: the truth. */
  report(id: string): void {
    const device = this.truth.get(id);
    if (device) this.write(id, { mdm_compromised: device.compromised ? 'TRUE' : 'FALSE', mdm_timestamp: this.ns() });
  }

  write(id: string, fields: DeviceFields): void {
    this.console.fleet.patchDevice(id, fields);
  }

  /** Nanoseconds, now or earlier or later. */
  ns(offsetMs = 0): bigint {
    return BigInt(Math.floor(this.nowMs + offsetMs)) * 1_000_000n;
  }

  /** Time passes as in an ordinary week: reports and logins by day, events, now and then a change by hand. */
  ordinary(ms = this.plan.everyMs): void {
    const { dice } = this;
    this.on.clock.pass(ms);
    const at = new Date(this.nowMs);
    const isWork = at.getUTCDay() % 6 !== 0 && at.getUTCHours() >= 8 && at.getUTCHours() < 18;
    const rate = REPORTING[isWork ? 'work' : 'rest'] * (ms / (30 * MINUTE_MS));
    for (const { id, ordinary } of this.truth.values()) {
      if (!dice.chance(rate)) continue;
      if (ordinary && !this.poisoned.has(id)) this.report(id);
      if (dice.chance(0.5)) this.write(id, { last_login: this.ns() });
    }
    if (dice.chance(0.01)) this.byHand();
    const users = [...this.truth.keys()];
    for (let left = isWork ? dice.whole(0, 4) : dice.whole(0, 1); left > 0; left -= 1) {
      const access = { type: 'Access', subType: 'Connection', deviceId: dice.pick(users) };
      const [action, severity] = dice.chance(0.1)
        ? (['Unauthorized', 'ERROR'] as const)
        : (['Authorized', 'INFO'] as const);
      this.console.fleet.addEvent({ ...access, action, severity });
    }
  }

  /** A person bans a device for reasons of their own, and lifts that later. */
  private byHand(): void {
    if (this.banned !== undefined) this.console.fleet.banByHand(this.banned, 'FALSE');
    const { serial } = this.dice.pick(
      [...this.truth.values()].filter(({ ordinary, compromised }) => ordinary && !compromised),
    );
    this.banned = this.banned === undefined ? serial : undefined;
    if (this.banned !== undefined) this.console.fleet.banByHand(this.banned, 'TRUE');
  }

  /** A run of the engine, and a person who sometimes looks at what waits. */
  async run(): Promise<Lived> {
    const { run, plan } = await this.on.run('enforce');
    const calls = this.callsSince(false);
    const alerts = await this.alerts.look();
    if (plan?.status === 'pending' && this.dice.chance(0.5) && plan.intents.every((intent) => this.isRight(intent)))
      await this.on.apply(await this.on.approve(plan)).catch(() => undefined);
    calls.push(...this.callsSince(true));
    return { run, alerts, calls };
  }

  /** Somebody who knows the truth of the device would approve it. */
  private isRight({ action, target }: { action: string; target: string }): boolean {
    if (action !== 'ban_device' && action !== 'unban_device') return false;
    const devices = [...this.truth.values()].filter(({ serial }) => serial === target);
    return devices.every(({ compromised }) => compromised === (action === 'ban_device'));
  }

  private callsSince(byPlan: boolean): Lived['calls'] {
    const writes = this.console.writes().slice(this.reportedWrites);
    this.reportedWrites += writes.length;
    return writes.flatMap(({ address, body, caller }) => {
      const serial = new URL(address, 'http://localhost').searchParams.get('SerialNumber');
      if (caller !== 'the engine' || serial === null || !address.includes('update_device')) return [];
      return [{ ban: /"Banned":\s*"TRUE"/.test(body), serial, byPlan }];
    });
  }

  /** After the attack a person accepts a list that stays distrusted although it shows the truth. */
  async acceptIfLost({ run }: Lived): Promise<void> {
    const { devices } = run.findings?.snapshot.sources ?? {};
    this.lost = devices && !devices.trusted ? this.lost + 1 : 0;
    if (this.lost < 2) return;
    const operator = { by: 'ana', reason: 'compared with MDM by hand' };
    await acceptSnapshot(this.on.engine, 'devices', operator).catch(() => undefined);
  }

  async exempt(about: {
    subject?: { kind: string; id: string };
    selector?: { field: string; value: string };
  }): Promise<void> {
    const request = {
      ...about,
      owner: 'ana',
      reason: 'agreed',
      until: '90d',
      unseen: about.subject ? true : undefined,
    };
    await addExemption(this.on.engine, { ...request, acceptForgeable: true } as typeof request, 'ana');
  }

  async removeOwner(serial: string, email: string): Promise<void> {
    await this.admin.deleteDevice(serial, email);
  }

  /** A new device, as an administrator adds it. */
  join(): void {
    const serial = `NEW${this.dice.whole(100_000, 999_999)}`;
    const id = this.console.fleet.addDevice({ serial }, [`new${this.dice.whole(1, 9_999)}@acme.example`]);
    this.truth.set(id, { id, serial, compromised: false, ordinary: true });
  }

  /** Somebody leaves with their device. */
  async leave(): Promise<void> {
    const { id, serial } = this.dice.pick([...this.truth.values()].filter(({ ordinary }) => ordinary));
    this.truth.delete(id);
    await this.admin.deleteDevice(serial);
  }

  /** A device is compromised; those of before are clean again. */
  trouble(): void {
    for (const device of this.truth.values()) {
      if (device.compromised) this.report(Object.assign(device, { compromised: false }).id);
    }
    const device = this.dice.pick([...this.truth.values()].filter(({ ordinary }) => ordinary));
    device.compromised = true;
    this.report(device.id);
  }

  async isBanned(id: string): Promise<boolean> {
    return (await this.api.device(id))?.Banned === 'TRUE';
  }
}
