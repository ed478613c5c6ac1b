// support: the platform in memory, with scripted answers to writing calls: done, refused, doubtful with, without or with a
// late effect; and reads that can be stale or refused. It keeps the true list of what was sent and of what took effect.
import { AppError } from '../../src/domain/errors.ts';
import { type Facts, ownText } from '../../src/domain/facts.ts';
import type {
  Api,
  BundleFacts,
  Clock,
  EventQuery,
  Latency,
  Page,
  ServiceSpecFacts,
  WriteAnswer,
} from '../../src/domain/ports.ts';
import { LatencyMeter } from '../../src/platform/client/transport.ts';

/**
 * failed: refused as wrong, no effect. unauthorized, forbidden: refused before anything is done. lost: doubtful, no effect. hidden: doubtful, with effect. late: doubtful, its effect comes
 * after `lateMs`. slow: late, and no answer comes until the request times out. idle: says done, has no effect.
 */
export type Answer = 'done' | 'failed' | 'lost' | 'hidden' | 'late' | 'slow' | 'idle' | 'unauthorized' | 'forbidden';

export const START_MS = 1_800_000_000_000;

/** Time that only moves when a test, or a wait, moves it. */
export class FakeClock implements Clock {
  now = START_MS;
  boot = 'the first boot';
  nowMs(): number {
    return this.now;
  }
  monotonicMs(): number {
    return this.now;
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw new AppError('stopped', 'stopped while waiting');
    this.now += ms;
  }
  pass(ms: number): void {
    this.now += ms;
  }
}

export interface Call {
  action: 'ban' | 'unban' | 'delete' | 'enable' | 'disable' | 'drop' | 'write' | 'bundle' | 'unbundle';
  target: string;
  /** Of the deletion of one user's mapping. */
  email?: string | undefined;
  /** Of `write`. */
  spec?: Facts;
}

export class Platform implements Api {
  readonly address = 'http://platform.test';
  readonly devices = new Map<string, Facts>();
  readonly services = new Map<string, Facts>();
  /** By e-mail. */
  readonly users = new Map<string, Facts>();
  /** The event log, oldest first. */
  readonly eventLog: Facts[] = [];
  /** Services by bundle. */
  readonly bundles = new Map<string, Set<string>>();
  /** False: an older server, which has no list of bundles. */
  listsBundles = true;
  /** Every writing request that was sent, as `ban SERIAL`. */
  readonly sent: string[] = [];
  /** Every one that took effect. */
  readonly effects: string[] = [];
  /** Answers to come, by target; `done` when there is none. */
  readonly answers = new Map<string, Answer[]>();
  /** What reads throw instead of an answer. */
  readFault: AppError | undefined;
  /** While set, reads of single targets see the fleet as it was then. */
  private staleCopy: Map<string, Facts> | undefined;
  lateMs = 5_000;
  /** How long a request is waited for. */
  timeoutMs = 2_000;
  /** Called within every writing request, before its effect. */
  onWrite: (call: Call) => void = () => {};
  /** Called before every read of a list, or of a single target. */
  onRead: (what: 'devices' | 'users' | 'services' | 'target') => void = () => {};
  private reports = 0;
  private pending: { atMs: number; call: Call }[] = [];

  private meter: LatencyMeter;

  constructor(private readonly clock: Clock) {
    this.meter = new LatencyMeter(clock, this.timeoutMs);
  }

  /** What a process measured ends with it. */
  beginMeasuring(): void {
    this.meter = new LatencyMeter(this.clock, this.timeoutMs);
  }

  latency(): Latency {
    return this.meter.latency();
  }

  unansweredMs(): number {
    return this.meter.unansweredMs;
  }

  addDevice(id: string, fields: Facts = {}): void {
    const { MdmData, ...rest } = fields;
    this.devices.set(id, {
      DeviceID: id,
      SerialNumber: `S-${id}`,
      DeviceFriendlyName: `device ${id}`,
      Model: 'M1',
      Platform: 'macOS',
      Ownership: 'Corporate Dedicated',
      Architecture: 'arm64',
      Banned: 'FALSE',
      ...rest,
      MdmData: { Timestamp: START_MS, CompromisedStatus: 'FALSE', ...(MdmData as Facts | undefined) },
    });
  }

  /** What MDM says comes with the time of a new report, unless the test gives one. */
  patch(id: string, fields: Facts): void {
    const { MdmData } = fields;
    const report = MdmData && { MdmData: { Timestamp: this.reportedAt(), ...(MdmData as Facts) } };
    this.devices.set(id, { ...this.devices.get(id), ...fields, ...report });
  }

  /** Each later than the one before, by MDM's own clock. */
  reportedAt(): number {
    this.reports += 1;
    return START_MS + this.reports;
  }

  compromised(id: string, value: string | null): void {
    this.patch(id, { MdmData: value === null ? {} : { CompromisedStatus: value } });
  }

  isBanned(serial: string): boolean {
    this.settleLate();
    return this.of(serial).every((device) => device.Banned === 'TRUE');
  }

  answer(target: string, ...answers: Answer[]): void {
    this.answers.set(target, answers);
  }

  readStaleFromNow(): void {
    this.staleCopy = new Map(this.devices);
  }

  readFresh(): void {
    this.staleCopy = undefined;
  }

  async *pages(source: 'devices' | 'users'): AsyncIterable<Page> {
    const records = this.listOf(source).map(withoutUnpagedFields);
    yield { records, total: records.length };
  }

  async *stream(source: 'devices' | 'users' | 'services'): AsyncIterable<unknown[]> {
    yield this.listOf(source);
  }

  async devicesOfSerial(serial: string): Promise<Facts[]> {
    this.beforeRead();
    const all = [...(this.staleCopy ?? this.devices).values()];
    return all.filter((device) => device.SerialNumber === serial);
  }

  async device(id: string): Promise<Facts | undefined> {
    this.beforeRead();
    return (this.staleCopy ?? this.devices).get(id);
  }

  async service(id: string): Promise<Facts | undefined> {
    this.beforeRead();
    return this.services.get(id);
  }

  async user(email: string): Promise<Facts | undefined> {
    this.beforeRead();
    return this.users.get(email);
  }
  async events({ afterMs = 0, beforeMs = Infinity, skip = 0, limit = 10 }: EventQuery): Promise<unknown[]> {
    const told = this.eventLog.filter(({ created_at: at }) => Number(at) >= afterMs && Number(at) <= beforeMs);
    return told.slice(skip, skip + limit);
  }
  async countEvents(): Promise<number> {
    return this.eventLog.length;
  }
  skewMs(): number | undefined {
    return 0;
  }

  async updateDevices(serial: string, devices: Facts[]): Promise<WriteAnswer> {
    const banned = devices.every((device) => device.Banned === 'TRUE');
    return this.write({ action: banned ? 'ban' : 'unban', target: serial });
  }
  async deleteDevice(serial: string, email?: string): Promise<WriteAnswer> {
    return this.write({ action: 'delete', target: email === undefined ? serial : `${serial} ${email}`, email });
  }
  async enableService(id: string): Promise<WriteAnswer> {
    return this.write({ action: 'enable', target: id });
  }
  async disableService(id: string): Promise<WriteAnswer> {
    return this.write({ action: 'disable', target: id });
  }
  async insertService(spec: ServiceSpecFacts): Promise<WriteAnswer> {
    return this.write({ action: 'write', target: `${spec.metadata.name}.${spec.metadata.cluster}`, spec });
  }
  async deleteService(id: string): Promise<WriteAnswer> {
    return this.write({ action: 'drop', target: id });
  }
  async addServiceToBundle(bundle: string, service: string): Promise<WriteAnswer> {
    return this.write({ action: 'bundle', target: `${service} ${bundle}` });
  }
  async removeServiceFromBundle(bundle: string, service: string): Promise<WriteAnswer> {
    return this.write({ action: 'unbundle', target: `${service} ${bundle}` });
  }
  async listBundles(): Promise<readonly BundleFacts[] | undefined> {
    this.beforeRead();
    if (!this.listsBundles) return undefined;
    return [...this.bundles].map(([id, services]) => ({ id, service_ids: [...services] }));
  }
  async close(): Promise<void> {}

  private async write(call: Call): Promise<WriteAnswer> {
    this.onWrite(call);
    this.sent.push(`${call.action} ${call.target}`);
    const answer = this.answers.get(call.target)?.shift() ?? 'done';
    if (answer === 'done' || answer === 'hidden') this.take(call);
    if (answer === 'late' || answer === 'slow') this.pending.push({ atMs: this.clock.nowMs() + this.lateMs, call });
    if (answer === 'failed') return { kind: 'failed', status: 400, text: 'refused by the platform' };
    if (answer === 'forbidden') return { kind: 'failed', status: 403, text: 'forbidden' };
    if (answer === 'unauthorized') return { kind: 'failed', status: 401, text: 'unauthorized' };
    if (answer === 'done' || answer === 'idle') return { kind: 'done', status: 200, text: 'Success' };
    if (answer === 'slow') {
      await this.clock.sleep(this.timeoutMs);
      this.meter.addUnanswered('write');
    }
    return { kind: 'doubtful', status: undefined, text: 'the connection was reset' };
  }

  private take(call: Call): void {
    const { action, target } = call;
    this.effects.push(`${action} ${target}`);
    if (action === 'drop') this.services.delete(target);
    if (action === 'write') this.takeSpec(target, call.spec as Facts);
    const [member, bundle] = target.split(' ') as [string, string];
    if (action === 'bundle') this.bundles.get(bundle)?.add(member);
    if (action === 'unbundle') this.bundles.get(bundle)?.delete(member);
    if (action === 'delete' && call.email !== undefined) this.unmap(target);
    else if (action === 'delete')
      for (const device of this.of(target)) this.devices.delete(ownText(device, 'DeviceID') ?? '');
    for (const device of this.of(target)) {
      if (action === 'ban' || action === 'unban')
        this.patch(ownText(device, 'DeviceID') ?? '', { Banned: action === 'ban' ? 'TRUE' : 'FALSE' });
    }
    const service = this.services.get(target);
    if (service && (action === 'enable' || action === 'disable'))
      this.services.set(target, { ...service, Enabled: action === 'enable' ? 'TRUE' : 'FALSE' });
  }

  /** One user's device, as `SERIAL EMAIL`. */
  private unmap(target: string): void {
    for (const [email, user] of this.users) {
      if (!target.endsWith(` ${email}`)) continue;
      const serials = (user.SerialNumbers as string[]).filter((serial) => `${serial} ${email}` !== target);
      this.users.set(email, { ...user, SerialNumbers: serials });
    }
  }

  private listOf(source: 'devices' | 'users' | 'services'): Facts[] {
    this.onRead(source);
    this.settleLate();
    return [...this[source].values()];
  }

  private takeSpec(id: string, spec: Facts): void {
    const record = this.services.get(id);
    const version = Number(record?.ServiceVersion ?? 0) + 1;
    this.services.set(id, { ...record, ServiceID: id, ServiceVersion: version, ServiceSpec: JSON.stringify(spec) });
  }

  private of(serial: string): Facts[] {
    return [...this.devices.values()].filter((device) => device.SerialNumber === serial);
  }

  private beforeRead(): void {
    this.onRead('target');
    if (this.readFault) throw this.readFault;
    this.settleLate();
  }

  private settleLate(): void {
    const due = this.pending.filter((late) => late.atMs <= this.clock.nowMs());
    this.pending = this.pending.filter((late) => !due.includes(late));
    for (const late of due) this.take(late.call);
  }
}

/** What the specification gives in the unpaged lists only. */
function withoutUnpagedFields(record: Facts): Facts {
  const { Emails, SerialNumbers, LastLogin, LoginCount, ...rest } = record;
  return rest;
}
