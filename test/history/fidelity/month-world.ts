// fidelity: the truth of a month: devices, users, services and the event log, as the platform has them; and what happens to them by itself.
// In: dice, a clock. Out: records with the API's own names. Nothing here knows the engine.
import type { Fact, Facts } from '../../../src/domain/facts.ts';
import type { Dice } from '../../harness/dice.ts';
import type { SimClock } from '../../harness/sim-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const BUNDLE = 'b1';
/** The first looks like a secret, and is not recorded. */
export const TOKENS = ['hunter2-Xy9', 'none'] as const;

export interface LoggedEvent {
  id: string;
  atMs: number;
  /** From then on it can be read. */
  seenMs: number;
  body: Facts;
}

export class MonthWorld {
  readonly devices = new Map<string, Facts>();
  readonly users = new Map<string, Facts>();
  readonly services = new Map<string, Facts>();
  readonly bundled = new Set<string>();
  readonly log: LoggedEvent[] = [];
  private readonly gone: Facts[] = [];
  private born = 0;

  constructor(
    private readonly clock: SimClock,
    readonly dice: Dice,
    devices: number,
  ) {
    for (let count = dice.whole(3, 6); count > 0; count -= 1) this.hire();
    for (let count = dice.whole(1, 3); count > 0; count -= 1) this.open();
    for (let count = devices; count > 0; count -= 1) this.register();
  }

  /** Something of it happens every few hours. */
  happen(): void {
    const { dice } = this;
    const what = dice.weighted({
      ...{ report: 20, trust: 14, compromise: 12, login: 10, failure: 12, outage: 8, owner: 5, register: 3 },
      ...{ anew: 2, leave: 2, back: 2, lose: 3, leaver: 4, groups: 2, hire: 1, quit: 1, service: 5, open: 1, close: 1 },
      ...{ oddity: 6, reorder: 3, person: 5, share: 1 },
    });
    if (what === 'hire') this.hire();
    else if (what === 'open') this.open();
    else if (what === 'register') this.register();
    else if (what === 'back') this.comeBack();
    else if (what === 'reorder') this.reorder();
    else if (USERS.has(what)) this.happenToUser(what);
    else if (SERVICES.has(what)) this.happenToService(what);
    else this.happenToDevice(what);
  }

  private happenToDevice(what: string): void {
    const { dice } = this;
    const device = this.anyOf(this.devices);
    if (!device) return;
    const mdm = device.MdmData as Facts;
    const trust = device.TrustData as Facts;
    if (what === 'report') mdm.Timestamp = this.ns(dice.chance(0.1) ? dice.whole(0, 20) * DAY_MS : 0);
    if (what === 'trust') {
      trust.AccessTrustscore = dice.whole(0, 100);
      trust.Level = dice.pick(['Low', 'Medium', 'High']);
      trust.UpdatedAt = this.ns(0);
      trust.Factors = [{ Name: 'Firewall', Value: dice.pick(['TRUE', 'FALSE']) }];
    }
    if (what === 'compromise') set(mdm, 'CompromisedStatus', this.flag());
    if (what === 'lose') set(mdm, 'Lost', this.flag());
    if (what === 'login') {
      device.LastLogin = this.ns(0);
      device.LoginCount = Number(device.LoginCount) + 1;
    }
    if (what === 'failure') this.failures(device);
    if (what === 'owner') this.give(device);
    if (what === 'leave') this.remove(device);
    if (what === 'anew') this.registerAnew(device);
    if (what === 'person') this.ban(String(device.SerialNumber), dice.chance(0.5));
    if (what === 'share') device.SerialNumber = this.anyOf(this.devices)?.SerialNumber as string;
    if (what === 'oddity') this.makeOdd(device);
    if (TOLD.has(what) && dice.chance(0.7)) this.note({ severity: 'INFO', user_principal: principalOf(device) }, 0);
  }

  private happenToUser(what: string): void {
    const { dice } = this;
    const user = this.anyOf(this.users);
    if (!user) return;
    if (what === 'leaver') set(user, 'Leaver', this.flag());
    if (what === 'groups') user.Groups = dice.pick(['staff', 'staff,admins', 'board', '']);
    if (what === 'quit' && this.users.size > 2) {
      this.users.delete(String(user.Email));
      for (const device of this.devices.values())
        device.Emails = (device.Emails as string[]).filter((email) => email !== user.Email);
    }
  }

  private happenToService(what: string): void {
    const { dice } = this;
    const service = this.anyOf(this.services);
    if (!service) return;
    const id = String(service.ServiceID);
    if (what === 'outage')
      for (let count = dice.whole(1, 5); count > 0; count -= 1)
        this.note({ severity: 'ERROR', service: { id, name: id } }, dice.whole(0, 8 * MINUTE_MS));
    if (what === 'service') {
      set(service, 'Exposed', this.flag());
      service.Port = dice.whole(1, 65_000);
      if (dice.chance(0.2)) service.Enabled = dice.pick(['TRUE', 'FALSE']);
    }
    if (what === 'close' && this.services.size > 1) this.services.delete(id);
  }

  /** What records have that nobody expects: lists, empty parts, nulls, large numbers, keys with a dot, secrets. */
  private makeOdd(device: Facts): void {
    const { dice } = this;
    const odd: Fact[] = [{}, [], null, '', 9_007_199_254_740_993n, -0.5, true, { 'a.b': 1, c: { d: ['x', null] } }];
    set(device, dice.pick(['Odd', 'IsMDMPresent', 'Extra', 'a.b', '']), dice.chance(0.3) ? undefined : dice.pick(odd));
    if (dice.chance(0.3)) device.Roles = dice.pick([[], ['admin'], ['admin', 'sales']]);
    if (dice.chance(0.2)) device.Note = { api_token: dice.pick(TOKENS), text: 'kept' };
    if (dice.chance(0.1)) device.MdmData = { Timestamp: this.ns(0) };
  }

  private failures(device: Facts): void {
    const { dice } = this;
    for (let count = dice.whole(1, 4); count > 0; count -= 1)
      this.note({ severity: 'WARN', user_principal: principalOf(device) }, dice.whole(0, HOUR_MS));
  }

  /** An event that can be read at once, soon, or after the overlap of two reads. */
  private note(body: Facts, agoMs: number): void {
    const atMs = this.clock.trueMs - agoMs;
    const lateMs = this.dice.chance(0.1) ? this.dice.whole(MINUTE_MS, 2 * HOUR_MS) : 0;
    const own = { type: 'Access', sub_type: 'Connection', action: 'Unauthorized', result: '', ...body };
    const id = `e${this.log.length}`;
    this.log.push({ id, atMs, seenMs: this.clock.trueMs + lateMs, body: { id, created_at: atMs, ...own } });
  }

  private give(device: Facts): void {
    const email = this.anyOf(this.users)?.Email as string;
    device.Emails = this.dice.chance(0.15) ? [] : this.dice.chance(0.2) ? withOne(device.Emails, email) : [email];
    this.mapAll();
  }

  private register(serial = `S${this.born}`): void {
    const id = `d${this.born}`;
    this.born += 1;
    const email = this.anyOf(this.users)?.Email as string;
    const { dice } = this;
    this.devices.set(id, {
      ...{ DeviceID: id, SerialNumber: serial, DeviceFriendlyName: `device ${id}`, Model: 'M1', Architecture: 'arm64' },
      ...{ Platform: dice.pick(['macOS', 'iOS']), Ownership: dice.pick(['Corporate Dedicated', 'Employee Owned']) },
      ...{ Banned: 'FALSE', RegisteredStatus: 'TRUE', Emails: [email], LastLogin: this.ns(0), LoginCount: 1 },
      MdmData: { CompromisedStatus: 'FALSE', Lost: 'FALSE', Timestamp: this.ns(0), Source: 'mdm' },
      TrustData: { AccessTrustscore: dice.whole(30, 100), Level: 'High', UpdatedAt: this.ns(0), Factors: [] },
    });
    this.mapAll();
  }

  /** The same serial number under another id; the old record is gone, or stays. */
  private registerAnew(device: Facts): void {
    if (this.dice.chance(0.7)) this.devices.delete(String(device.DeviceID));
    this.register(String(device.SerialNumber));
  }

  private remove(device: Facts): void {
    if (this.devices.size < 3) return;
    this.devices.delete(String(device.DeviceID));
    this.gone.push(device);
    this.mapAll();
  }

  private comeBack(): void {
    const device = this.gone.shift();
    if (device) this.devices.set(String(device.DeviceID), device);
    this.mapAll();
  }

  private reorder(): void {
    const { dice } = this;
    for (const list of [this.devices, this.users, this.services]) {
      const entries = [...list].map((entry) => ({ entry, at: dice.share() })).sort((a, b) => a.at - b.at);
      list.clear();
      for (const { entry } of entries) list.set(...entry);
    }
  }

  private hire(): void {
    const email = `u${this.born}@main.test`;
    this.born += 1;
    this.users.set(email, { Email: email, Name: `user ${email}`, Groups: 'staff', SerialNumbers: [], LoginCount: 0 });
  }

  private open(): void {
    const id = `svc${this.born}.main.test`;
    this.born += 1;
    const spec = { metadata: { name: id, cluster: 'main' }, spec: { backend: { tls: false, password: 'hidden' } } };
    const names = { ServiceID: id, ServiceName: id, ClusterName: 'main', Port: 443 };
    this.services.set(id, { ...names, Enabled: 'TRUE', Exposed: 'FALSE', ServiceSpec: JSON.stringify(spec) });
  }

  /** The users' own lists, as the devices say. */
  private mapAll(): void {
    for (const [email, user] of this.users) {
      const own = [...this.devices.values()].filter(({ Emails }) => (Emails as string[]).includes(email));
      user.SerialNumbers = [...new Set(own.map(({ SerialNumber }) => SerialNumber as string))];
    }
  }

  ban(serial: string, isBanned: boolean): void {
    for (const device of this.devices.values())
      if (device.SerialNumber === serial) device.Banned = isBanned ? 'TRUE' : 'FALSE';
  }

  deleteSerial(serial: string): void {
    for (const [id, { SerialNumber }] of this.devices) if (SerialNumber === serial) this.devices.delete(id);
    this.mapAll();
  }

  unmap(serial: string, email: string): void {
    for (const device of this.devices.values())
      if (device.SerialNumber === serial) device.Emails = (device.Emails as string[]).filter((one) => one !== email);
    this.mapAll();
  }

  /** Undefined: the record has no such field. */
  private flag(): string | undefined {
    const flag = this.dice.weighted({ TRUE: 1, FALSE: 2, none: 1 });
    return flag === 'none' ? undefined : flag;
  }

  private ns(agoMs: number): bigint {
    return BigInt(this.clock.trueMs - agoMs) * 1_000_000n;
  }

  private anyOf(list: ReadonlyMap<string, Facts>): Facts | undefined {
    return list.size > 0 ? this.dice.pick([...list.values()]) : undefined;
  }
}

/** What the platform logs, mostly. */
const TOLD: ReadonlySet<string> = new Set(['compromise', 'trust', 'lose', 'owner']);
const USERS: ReadonlySet<string> = new Set(['leaver', 'groups', 'quit']);
const SERVICES: ReadonlySet<string> = new Set(['outage', 'service', 'close']);

function principalOf({ DeviceID, SerialNumber, Emails }: Facts): Facts {
  const [email] = Emails as string[];
  const device = { id: String(DeviceID), serial_number: String(SerialNumber) };
  return { device, ...(email !== undefined && { user: { email } }) };
}

function set(record: Facts, field: string, value: Fact | undefined): void {
  if (value === undefined) delete record[field];
  else record[field] = value;
}

function withOne(emails: Fact | undefined, email: string): string[] {
  return [...new Set([...(emails as string[]), email])];
}
