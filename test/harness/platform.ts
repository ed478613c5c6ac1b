// harness: the platform's Management API in memory, over the true world, with nemeses on every request. In: calls of
// the engine. Out: answers that may be lost, late, stale, shifted or false. Each writing request is reported to the
// witness at the moment when it reaches the platform, before it has any effect.
import { AppError } from '../../src/domain/errors.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type {
  Api,
  BundleFacts,
  EventQuery,
  Latency,
  Page,
  ServiceSpecFacts,
  WriteAnswer,
} from '../../src/domain/ports.ts';
import type { Source } from '../../src/domain/subjects.ts';
import { LatencyMeter } from '../../src/platform/client/transport.ts';
import type { Dice } from './dice.ts';
import type { WorldEvent } from './event-log.ts';
import {
  LATE_MAX_MS,
  LATENCY_MAX_MS,
  type ListFate,
  type Profile,
  type ReadFate,
  SLOW_EFFECT_MS,
  STALE_MAX_MS,
  type WriteFate,
} from './profile.ts';
import { bundleRecord, deviceRecord, eventRecord, serviceRecord, userRecord, verbOfSpec } from './records.ts';
import type { SimClock } from './sim-clock.ts';
import type { Verb, Version, World } from './world.ts';
import { ANSWERS, AT_ONCE } from './write-answers.ts';

export interface PlatformRequest {
  number: number;
  /** True time at which it reached the platform. */
  atMs: number;
  /** The engine's wall clock then. */
  wallMs: number;
  verb: Verb;
  target: string;
  fate: WriteFate;
  /** The platform's answer; whether the engine was still alive to receive it is another matter. */
  answer: WriteAnswer['kind'];
}

export interface Witness {
  onRequest(request: PlatformRequest): void;
  onList(source: Source, fate: ListFate, count: number): void;
  /** An answer with events. */
  onEvents(events: readonly WorldEvent[]): void;
}

const PAGE = 4;
const CALM_LISTS = { fresh: 1 } as Profile['lists'];

export class SimPlatform implements Api {
  readonly address = 'http://platform.test';
  readonly requests: PlatformRequest[] = [];
  /** No nemesis comes any more. */
  isCalm = false;
  /** Of single records. */
  reads = 0;
  private meter!: LatencyMeter;

  constructor(
    private readonly world: World,
    private readonly clock: SimClock,
    private readonly profile: Profile,
    private readonly dice: Dice,
    public witness: Witness,
  ) {
    this.beginMeasuring();
  }

  /** What a process measured ends with it. */
  beginMeasuring(): void {
    this.meter = new LatencyMeter(this.clock, this.profile.timeoutMs);
  }

  latency(): Latency {
    return this.meter.latency();
  }

  unansweredMs(): number {
    return this.meter.unansweredMs;
  }

  async *pages(source: 'devices' | 'users'): AsyncIterable<Page> {
    const fate = this.listFate();
    this.refuse(fate);
    const { devices, users } = this.versionFor(fate);
    const told = source === 'devices' ? devices.map((device) => deviceRecord(device, users)) : users.map(userRecord);
    const records = spoilt(told, fate);
    this.witness.onList(source, fate, records.length);
    for (let from = 0; from === 0 || from < records.length; from += PAGE) {
      this.takeTime();
      yield { records: records.slice(from, from + PAGE), total: records.length };
      if (fate === 'shifted') throw new AppError('api_answer', 'the list changed', { detail: { cause: 'shifted' } });
      if (fate === 'truncated') throw new AppError('api_answer', 'the answer is cut');
    }
  }

  async *stream(source: 'devices' | 'users' | 'services'): AsyncIterable<unknown[]> {
    if (source !== 'services') {
      for await (const { records } of this.pages(source)) yield records;
      return;
    }
    const fate = this.listFate();
    this.refuse(fate);
    const records = spoilt(this.versionFor(fate).services.map(serviceRecord), fate);
    this.witness.onList('services', fate, records.length);
    this.takeTime();
    yield records;
    if (fate === 'shifted' || fate === 'truncated') throw new AppError('api_answer', 'the answer is cut');
  }

  async devicesOfSerial(serialNumber: string): Promise<Facts[]> {
    const { devices, users } = await this.read();
    return devices.filter(({ serial }) => serial === serialNumber).map((device) => deviceRecord(device, users));
  }

  async device(deviceId: string): Promise<Facts | undefined> {
    const { devices, users } = await this.read();
    const found = devices.find(({ id }) => id === deviceId);
    return found && deviceRecord(found, users);
  }

  async service(serviceId: string): Promise<Facts | undefined> {
    const found = (await this.read()).services.find((service) => service.id === serviceId);
    return found && serviceRecord(found);
  }

  async user(email: string): Promise<Facts | undefined> {
    const found = (await this.read()).users.find((user) => user.email === email);
    return found && userRecord(found);
  }

  async events({
    afterMs = 0,
    beforeMs = Number.MAX_SAFE_INTEGER,
    skip = 0,
    limit = 10,
    serviceName,
  }: EventQuery): Promise<unknown[]> {
    const fate = this.isCalm ? 'fresh' : this.dice.weighted(this.profile.reads);
    if (fate === 'broken') this.witness.onList('events', fate, 0);
    this.refuse(fate);
    this.forbidOrNot();
    this.takeTime();
    const until = this.clock.trueMs - (fate === 'stale' ? this.dice.whole(1, STALE_MAX_MS) : 0);
    const seen = this.world.log.until(until);
    const isAsked = ({ service }: WorldEvent) => serviceName === undefined || service === serviceName;
    const isIn = ({ atMs }: WorldEvent) => atMs >= afterMs && atMs <= Math.min(beforeMs, until);
    const told = seen.filter((event) => isAsked(event) && isIn(event));
    const page = told.slice(skip, skip + limit);
    if (page.length > 1 && !this.isCalm && this.profile.looks && this.dice.chance(this.profile.looks.disorder)) {
      this.witness.onList('events', 'shifted', page.length);
      return page.reverse().map(eventRecord);
    }
    this.witness.onEvents(page);
    return page.map(eventRecord);
  }

  /** An edition without the log, or a credential without the right to it: for some requests. */
  private forbidOrNot(): void {
    const { looks } = this.profile;
    if (this.isCalm || !looks || !this.dice.chance(looks.forbidden)) return;
    this.witness.onList('events', 'broken', 0);
    throw new AppError('api_forbidden', 'events are not allowed (403)');
  }

  async countEvents({ afterMs = 0, serviceName }: EventQuery): Promise<number> {
    const names = serviceName?.split('|');
    const isIn = ({ atMs, service = '' }: WorldEvent) => atMs >= afterMs && (!names || names.includes(service));
    return this.world.log.until(this.clock.trueMs).filter(isIn).length;
  }

  skewMs(): number | undefined {
    return this.profile.hasDate ? Math.round(-this.clock.offsetMs / 1_000) * 1_000 : undefined;
  }

  async updateDevices(serialNumber: string, devices: Facts[]): Promise<WriteAnswer> {
    return this.write(devices.every((device) => device.Banned === 'TRUE') ? 'ban' : 'unban', serialNumber);
  }

  async deleteDevice(serialNumber: string, email?: string): Promise<WriteAnswer> {
    return email ? this.write('unmap', `${serialNumber} ${email}`) : this.write('delete', serialNumber);
  }

  async addServiceToBundle(bundle: string, serviceId: string): Promise<WriteAnswer> {
    return this.write('bundle', `${serviceId} ${bundle}`);
  }

  async removeServiceFromBundle(bundle: string, serviceId: string): Promise<WriteAnswer> {
    return this.write('unbundle', `${serviceId} ${bundle}`);
  }

  /** Older servers have no such list. */
  async listBundles(): Promise<BundleFacts[] | undefined> {
    return this.profile.listsBundles ? [bundleRecord(await this.read())] : undefined;
  }

  async insertService(spec: ServiceSpecFacts): Promise<WriteAnswer> {
    return this.write(verbOfSpec(spec), spec.metadata.name);
  }

  async deleteService(serviceId: string): Promise<WriteAnswer> {
    return this.write('remove', serviceId);
  }

  async enableService(serviceId: string): Promise<WriteAnswer> {
    return this.write('enable', serviceId);
  }

  async disableService(serviceId: string): Promise<WriteAnswer> {
    return this.write('disable', serviceId);
  }

  async close(): Promise<void> {}

  /** Where calls go at once, a request arrives when it is sent: all that time is the answer's. */
  private async write(verb: Verb, target: string): Promise<WriteAnswer> {
    if (!this.clock.isShared) this.takeTime();
    const fate = this.isCalm ? 'done' : this.dice.weighted(this.profile.writes);
    const answer = ANSWERS[fate];
    const number = this.requests.length + 1;
    const { trueMs: atMs } = this.clock;
    const request = { number, atMs, wallMs: this.clock.nowMs(), verb, target, fate, answer: answer.kind };
    this.witness.onRequest(request);
    this.requests.push(request);
    if (AT_ONCE.has(fate)) this.world.take(verb, target, number);
    if (fate === 'late' || fate === 'lying_late') {
      this.clock.after(this.dice.whole(1, LATE_MAX_MS), () => this.world.take(verb, target, number));
    }
    if (fate === 'slow') await this.takeTooLong(() => this.world.take(verb, target, number));
    await this.shareTime();
    if (answer.kind === 'doubtful') this.jumpSoon();
    return answer;
  }

  /** The effect comes after the client has stopped waiting, perhaps even after the quiet period. */
  private async takeTooLong(happen: () => void): Promise<void> {
    const [from, to] = SLOW_EFFECT_MS[this.dice.chance(0.6) ? 'within' : 'beyond'];
    this.clock.after(this.dice.whole(from, to), happen);
    await this.clock.take(this.profile.timeoutMs);
    this.meter.addUnanswered('write');
  }

  /** Nobody set the clock right at a worse moment than in a quiet period. */
  private jumpSoon(): void {
    const { clock, dice, profile } = this;
    if (this.isCalm || !profile.people?.jump || !dice.chance(0.3)) return;
    clock.after(dice.whole(300, 10_000), () => clock.jump(clock.offsetMs + dice.pick([16_000, 120_000, -20_000])));
  }

  private async read(): Promise<Version> {
    this.reads += 1;
    const fate: ReadFate = this.isCalm ? 'fresh' : this.dice.weighted(this.profile.reads);
    this.refuse(fate);
    await this.shareTime();
    return this.versionFor(fate);
  }

  private listFate(): ListFate {
    return this.dice.weighted(this.isCalm ? CALM_LISTS : this.profile.lists);
  }

  private versionFor(fate: ListFate): Version {
    return fate === 'stale' ? this.world.before(this.dice.whole(1, STALE_MAX_MS)) : this.world.now;
  }

  private refuse(fate: ListFate): void {
    if (fate === 'broken') throw new AppError('api_unreachable', 'the connection broke');
    if (fate === 'unauthorized') throw new AppError('api_refused', 'the credential is refused (401)');
  }

  private takeTime(): void {
    const ms = this.drawMs();
    this.clock.pass(ms);
    this.meter.add('read', ms);
  }

  /** Others go on meanwhile, where calls go at once. */
  private async shareTime(): Promise<void> {
    const ms = this.drawMs();
    await this.clock.take(ms);
    this.meter.add('read', ms);
  }

  private drawMs(): number {
    return this.isCalm ? 1 : this.dice.whole(0, LATENCY_MAX_MS / 2);
  }
}

/** False lists: a record twice, none at all, or a good part left out with a total that agrees. */
function spoilt(records: Facts[], fate: ListFate): Facts[] {
  if (fate === 'repeated') return [...records, records[0] as Facts];
  if (fate === 'emptied') return [];
  if (fate === 'short') return records.slice(0, Math.ceil(records.length * 0.6));
  return records;
}
