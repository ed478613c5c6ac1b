// bench: the real console in this process as the engine's Management API, without sockets; and what stands between the two. In: the console's
// app, a key. Out: records as the console answers them, unless somebody between answers with what was kept before.
import type { Console } from '../../src/console/console.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { Api, Clock, EventQuery, Page, WriteAnswer } from '../../src/domain/ports.ts';
import { parseExact, stringifyExact } from '../../src/platform/contract.ts';
import { Platform } from '../../test/support/platform.ts';

type Listed = 'devices' | 'users' | 'services';
/** The path, and where a page has the records; an unpaged list is the records. */
const LISTS = { devices: 'devices', users: 'endusers', services: 'registered_services' } as const;

/** What an attacker between the two keeps of the console's answers, and answers again. */
export interface Frozen {
  lists: Map<string, Facts[]>;
  /** Reads of one device are answered by what was kept, too. */
  singles: boolean;
}

/** Everything that the console has an endpoint for; the rest is as `Platform` has it: empty. */
export class ConsoleApi extends Platform implements Api {
  frozen: Frozen | undefined;
  /** The server's time minus ours. */
  skew = 0;
  readonly #headers: Record<string, string>;
  readonly #app: Console['app'];

  constructor(console: Console, clock: Clock, caller = 'the engine') {
    super(clock);
    this.#app = console.app;
    this.#headers = { authorization: `Bearer ${console.issueApiKey(caller, 'Admin')}` };
  }

  /** Everything in the lists now. */
  async kept(): Promise<Frozen['lists']> {
    const lists = new Map<string, Facts[]>();
    for (const source of ['devices', 'users', 'services'] as const)
      for (const form of ['paged', 'unpaged'])
        lists.set(`${source} ${form}`, await this.#list(source, form === 'paged'));
    return lists;
  }

  override async *pages(source: 'devices' | 'users'): AsyncIterable<Page> {
    const records = this.frozen?.lists.get(`${source} paged`) ?? (await this.#list(source, true));
    yield { records: structuredClone(records), total: records.length };
  }

  override async *stream(source: Listed): AsyncIterable<unknown[]> {
    yield structuredClone(this.frozen?.lists.get(`${source} unpaged`) ?? (await this.#list(source, false)));
  }

  override async devicesOfSerial(serial: string): Promise<Facts[]> {
    return this.#devices(({ SerialNumber }) => SerialNumber === serial, { Serialnumber: serial });
  }

  override async device(id: string): Promise<Facts | undefined> {
    return (await this.#devices(({ DeviceID }) => DeviceID === id, {}))[0];
  }

  override async service(id: string): Promise<Facts | undefined> {
    return (await this.#list('services', false)).find(({ ServiceID }) => ServiceID === id);
  }

  override async user(email: string): Promise<Facts | undefined> {
    return ((await this.#read('endusers', { Email: email })) as Facts[]).find(({ Email }) => Email === email);
  }

  override async events({
    order = 'ASC',
    afterMs,
    beforeMs,
    serviceName,
    skip,
    limit,
  }: EventQuery): Promise<unknown[]> {
    const query = { order, after: afterMs, before: beforeMs, service_name: serviceName, skip, limit };
    return ((await this.#read('events', query)) as { data: unknown[] }).data;
  }

  override async countEvents(): Promise<number> {
    return Number(((await this.#read('events/count', {})) as { data: unknown }).data);
  }

  override skewMs(): number {
    return this.skew;
  }

  override async updateDevices(serial: string, devices: Facts[]): Promise<WriteAnswer> {
    return this.#written('POST', `mdm/update_device?SerialNumber=${encodeURIComponent(serial)}`, devices);
  }

  override async enableService(id: string): Promise<WriteAnswer> {
    return this.#written('POST', `enable_registered_service?ServiceID=${encodeURIComponent(id)}`);
  }

  override async disableService(id: string): Promise<WriteAnswer> {
    return this.#written('POST', `disable_registered_service?ServiceID=${encodeURIComponent(id)}`);
  }

  override async deleteDevice(serial: string, email?: string): Promise<WriteAnswer> {
    const who = email === undefined ? '' : `&Email=${encodeURIComponent(email)}`;
    return this.#written('DELETE', `delete_device?SerialNumber=${encodeURIComponent(serial)}${who}`);
  }

  override async listBundles(): Promise<undefined> {
    return undefined;
  }

  async #devices(isWanted: (record: Facts) => boolean, query: Record<string, string>): Promise<Facts[]> {
    const kept = this.frozen?.singles ? this.frozen.lists.get('devices unpaged') : undefined;
    const devices = kept ?? ((await this.#read('devices', query)) as Facts[]);
    return structuredClone(devices.filter(isWanted));
  }

  async #list(source: Listed, isPaged: boolean): Promise<Facts[]> {
    const path = LISTS[source];
    const isPage = isPaged && source !== 'services';
    const body = await this.#read(path, isPage ? { Skip: 0, Limit: 1_000 } : {});
    return (isPage ? (body as Record<string, Facts[]>)[path] : body) as Facts[];
  }

  async #read(path: string, query: Record<string, string | number | undefined>): Promise<unknown> {
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const response = await this.#app.request(`http://localhost/api/v1/${path}?${new URLSearchParams(given)}`, {
      headers: this.#headers,
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the console answered ${path} with ${response.status}: ${text}`);
    return parseExact(text);
  }

  async #written(method: string, path: string, body?: unknown): Promise<WriteAnswer> {
    const sent = { method, headers: this.#headers, ...(body === undefined ? {} : { body: stringifyExact(body) }) };
    const response = await this.#app.request(`http://localhost/api/v1/${path}`, sent);
    const text = await response.text();
    return { kind: response.status < 300 ? 'done' : 'failed', status: response.status, text };
  }
}
