// fidelity: the Management API of a month, in memory over its world: lists paged and unpaged, single records, the event log, writes. In: calls
// of the engine. Out: answers, spoilt as the mood of the moment has it: a list that is cut, emptied, forbidden; a write in doubt.
import { AppError } from '../../../src/domain/errors.ts';
import { type Facts, isFacts } from '../../../src/domain/facts.ts';
import type {
  Api,
  BundleFacts,
  EventQuery,
  Latency,
  Page,
  ServiceSpecFacts,
  WriteAnswer,
} from '../../../src/domain/ports.ts';
import { KIND_OF, type Source } from '../../../src/domain/subjects.ts';
import type { Dice } from '../../harness/dice.ts';
import type { SimClock } from '../../harness/sim-clock.ts';
import { BUNDLE, type MonthWorld, TOKENS } from './month-world.ts';
import type { Listed } from './recorded-facts.ts';

/** `short`: a good part left out, with a total that agrees. */
export type Mood = 'well' | 'broken' | 'forbidden' | 'emptied' | 'short' | 'repeated' | 'shifted' | 'unreadable';
type Fate = 'done' | 'failed' | 'lost_request' | 'lost_reply' | 'late' | 'lying' | 'unauthorized';

export interface PlatformTraits {
  writes: { [fate in Fate]: number };
  /** The chance that a single read fails. */
  broken: number;
  listsBundles: boolean;
  hasDate: boolean;
}

const PAGE = 5;
const LATE_MAX_MS = 7_000;
const UNPAGED_ONLY = ['Emails', 'LastLogin', 'LoginCount', 'SerialNumbers'];

export class MonthPlatform implements Api {
  readonly address = 'http://platform.test';
  /** Every effect of the engine, in order: what two months must have in common. */
  readonly effects: string[] = [];
  /** The last answers with a list. */
  listed: Listed = {};
  /** Whether an answer had a device with a secret, in a list or by itself. */
  hasShownSecret = false;
  /** What happens elsewhere while a list is read. */
  meanwhile = async (): Promise<void> => {};
  mood: { [source in Source]: Mood } = { devices: 'well', users: 'well', services: 'well', events: 'well' };

  constructor(
    private readonly world: MonthWorld,
    private readonly clock: SimClock,
    private readonly dice: Dice,
    private readonly traits: PlatformTraits,
  ) {}

  latency(): Latency {
    return { p99Ms: 100, calls: 100, kind: 'read' };
  }

  unansweredMs(): number {
    return 4_000;
  }

  async *pages(source: 'devices' | 'users'): AsyncIterable<Page> {
    await this.meanwhile();
    const records = this.noted(source, this.list(source).map(paged));
    for (let from = 0; from === 0 || from < records.length; from += PAGE) {
      this.clock.pass(this.dice.whole(0, 50));
      yield { records: records.slice(from, from + PAGE), total: records.length };
      if (this.mood[source] === 'shifted')
        throw new AppError('api_answer', 'the list changed', { detail: { cause: 'shifted' } });
    }
  }

  async *stream(source: 'devices' | 'users' | 'services'): AsyncIterable<unknown[]> {
    await this.meanwhile();
    const records = this.noted(source, this.list(source));
    this.clock.pass(this.dice.whole(0, 50));
    yield records;
    if (this.mood[source] === 'shifted') throw new AppError('api_answer', 'the answer is cut');
  }

  async devicesOfSerial(serialNumber: string): Promise<Facts[]> {
    await this.read();
    const devices = [...this.world.devices.values()].filter((one) => one.SerialNumber === serialNumber).map(copied);
    this.note(devices);
    return devices;
  }

  async device(deviceId: string): Promise<Facts | undefined> {
    await this.read();
    const device = copied(this.world.devices.get(deviceId));
    this.note(device ? [device] : []);
    return device;
  }

  async service(serviceId: string): Promise<Facts | undefined> {
    await this.read();
    return copied(this.world.services.get(serviceId));
  }

  async user(email: string): Promise<Facts | undefined> {
    await this.read();
    return copied(this.world.users.get(email));
  }

  async events(query: EventQuery): Promise<unknown[]> {
    const { afterMs = 0, beforeMs = Number.MAX_SAFE_INTEGER, skip = 0, limit = 10, serviceName } = query;
    this.refuse('events');
    const { trueMs } = this.clock;
    const seen = this.world.log.filter(({ seenMs, atMs, body }) => {
      const isOf = serviceName === undefined || (isFacts(body.service) && body.service.id === serviceName);
      return isOf && seenMs <= trueMs && atMs >= afterMs && atMs <= beforeMs;
    });
    seen.sort((a, b) => a.atMs - b.atMs);
    if (this.mood.events === 'shifted') seen.reverse();
    return seen.slice(skip, skip + limit).map(({ body }) => copied(body));
  }

  async countEvents({ afterMs = 0 }: EventQuery): Promise<number> {
    return this.world.log.filter(({ atMs, seenMs }) => atMs >= afterMs && seenMs <= this.clock.trueMs).length;
  }

  skewMs(): number | undefined {
    return this.traits.hasDate ? Math.round(-this.clock.offsetMs / 1_000) * 1_000 : undefined;
  }

  updateDevices(serialNumber: string, devices: Facts[]): Promise<WriteAnswer> {
    const isBan = devices.every(({ Banned }) => Banned === 'TRUE');
    return this.write(`${isBan ? 'ban' : 'unban'} ${serialNumber}`, () => this.world.ban(serialNumber, isBan));
  }

  deleteDevice(serial: string, email?: string): Promise<WriteAnswer> {
    return this.write(`delete ${serial} ${email}`, () =>
      email === undefined ? this.world.deleteSerial(serial) : this.world.unmap(serial, email),
    );
  }

  enableService(id: string): Promise<WriteAnswer> {
    return this.write(`enable ${id}`, () => this.change(id, { Enabled: 'TRUE' }));
  }

  disableService(id: string): Promise<WriteAnswer> {
    return this.write(`disable ${id}`, () => this.change(id, { Enabled: 'FALSE' }));
  }

  insertService(spec: ServiceSpecFacts): Promise<WriteAnswer> {
    const { name } = spec.metadata;
    return this.write(`insert ${name}`, () => this.change(name, { ServiceSpec: JSON.stringify(spec) }));
  }

  deleteService(id: string): Promise<WriteAnswer> {
    return this.write(`remove ${id}`, () => this.world.services.delete(id));
  }

  addServiceToBundle(bundle: string, id: string): Promise<WriteAnswer> {
    return this.write(`bundle ${id} ${bundle}`, () => this.world.bundled.add(id));
  }

  removeServiceFromBundle(bundle: string, id: string): Promise<WriteAnswer> {
    return this.write(`unbundle ${id} ${bundle}`, () => this.world.bundled.delete(id));
  }

  async listBundles(): Promise<readonly BundleFacts[] | undefined> {
    await this.read();
    return this.traits.listsBundles ? [{ id: BUNDLE, service_ids: [...this.world.bundled] }] : undefined;
  }

  async close(): Promise<void> {}

  private noted(source: 'devices' | 'users' | 'services', records: Facts[]): Facts[] {
    this.listed = { ...this.listed, [KIND_OF[source]]: copied(records) };
    if (source === 'devices') this.note(records);
    return records;
  }

  private note(devices: readonly Facts[]): void {
    this.hasShownSecret ||= devices.some(({ Note }) => isFacts(Note) && Note.api_token === TOKENS[0]);
  }

  private change(id: string, facts: Facts): void {
    const service = this.world.services.get(id);
    if (service) Object.assign(service, facts);
  }

  private list(source: 'devices' | 'users' | 'services'): Facts[] {
    this.refuse(source);
    const all = [...this.world[source].values()].map(copied);
    const mood = this.mood[source];
    if (mood === 'emptied') return [];
    if (mood === 'short') return all.slice(0, Math.ceil(all.length * 0.6));
    if (mood === 'repeated') return [...all, copied(all[0] as Facts)];
    if (mood === 'unreadable') return [...all, { DeviceFriendlyName: 'nobody' }];
    return all;
  }

  private refuse(source: Source): void {
    if (this.mood[source] === 'broken') throw new AppError('api_unreachable', 'the connection broke');
    if (this.mood[source] === 'forbidden') throw new AppError('api_forbidden', `${source} are not allowed (403)`);
  }

  private async read(): Promise<void> {
    this.clock.pass(this.dice.whole(0, 50));
    if (this.dice.chance(this.traits.broken)) throw new AppError('api_unreachable', 'the connection broke');
  }

  private async write(effect: string, take: () => unknown): Promise<WriteAnswer> {
    this.clock.pass(this.dice.whole(0, 50));
    const fate = this.dice.weighted(this.traits.writes);
    this.effects.push(`${this.clock.trueMs} ${effect} ${fate}`);
    if (fate === 'done' || fate === 'lost_reply') take();
    if (fate === 'late') this.clock.after(this.dice.whole(1, LATE_MAX_MS), take);
    if (fate === 'done' || fate === 'lying') return { kind: 'done', status: 200, text: 'Success' };
    if (fate === 'failed') return { kind: 'failed', status: 400, text: 'refused' };
    if (fate === 'unauthorized') return { kind: 'failed', status: 401, text: 'unauthorized' };
    return { kind: 'doubtful', status: undefined, text: 'no answer' };
  }
}

/** What the engine holds of a record must not change with the world. */
function copied<T>(record: T): T {
  return structuredClone(record);
}

function paged(record: Facts): Facts {
  return Object.fromEntries(Object.entries(record).filter(([field]) => !UNPAGED_ONLY.includes(field)));
}
