// fidelity: what others say in a month: two transmitters whose signals come in through the real receiver and its inbox, and two tables of facts, typed by
// the real reader of rows. In: dice, the world. Out: what a process finds in its inbox and at its port of facts; and outages, refusals and faults of both.

import type { Facts } from '../../../src/domain/facts.ts';
import type { FactTable, GivenFacts, GivenReading, GivenSource } from '../../../src/domain/given-facts.ts';
import { signalEventOf, type Transmitter } from '../../../src/domain/signal.ts';
import { readSignals } from '../../../src/rules/load/signals-file.ts';
import { readSources } from '../../../src/rules/load/sources-file.ts';
import type { Receiver } from '../../../src/signals/receiver.ts';
import { TableBuilder } from '../../../src/sources/table.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Dice } from '../../harness/dice.ts';
import type { SimClock } from '../../harness/sim-clock.ts';
import { type Idp, receiverOf, startIdp } from '../../support/transmitter.ts';
import type { MonthWorld } from './month-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DETECTED = 'https://edr.test/detected';
/** Beside the rules of a month. */
export const ELSEWHERE_FILES: ReadonlyMap<string, string> = new Map([
  [
    'signals.yaml',
    `transmitters:
  idp: { issuer: "https://idp.test", audience: "https://us.test", jwks: { file: idp }, delivery: push,
    heartbeat: 1d, keeps: 2d, subjects: { iss_sub: email, device: serial, opaque: map, map: { x1: d1, x2: S2 } } }
  edr: { issuer: "https://edr.test", audience: "https://us.test", jwks: { file: edr }, delivery: poll, poll: "https://edr.test/poll",
    events: [device-compliance-change, "${DETECTED}"], members: { "${DETECTED}": { level: number, tactic: text } },
    heartbeat: 12h, keeps: 1d, oldest: 3d, subjects: { opaque: serial, device: device_id } }
`,
  ],
  [
    'sources.yaml',
    `sources:
  inventory: { key: { serial_number: serial }, fields: { status: text, encrypted: boolean, checked: { type: time, unit: ms } },
    fresh: 2d, every: 1h, file: { path: inventory.json } }
  people: { key: { email: mail }, fields: { state: text, risk: number, teams: texts }, fresh: 1d, every: 1h, file: { path: people.json } }
`,
  ],
]);
const TRANSMITTERS = readSignals(ELSEWHERE_FILES).transmitters;
const SOURCES = readSources(ELSEWHERE_FILES).sources;

/** A table is read well; not at all; from a file that nobody writes any longer; cut; with one value everywhere; with keys that come again. */
type Reading = 'well' | 'failed' | 'old' | 'cut' | 'moved' | 'repeated' | 'gone';

export class MonthElsewhere implements GivenFacts {
  /** By transmitter, what it has not delivered yet. */
  private readonly held = new Map<string, { jti: string; claims: Facts }[]>();
  private readonly outages = new Map<string, number>();
  private readonly texts: { transmitter: Transmitter; text: string }[] = [];
  private readonly rows = new Map<string, Map<string, Facts>>();
  private readonly found = new Map<string, GivenReading>();
  private readonly writtenMs = new Map<string, number>();
  private receiving: { idp: Idp; receiver: Receiver } | undefined;
  private sent = 0;
  private isGoing = false;

  /** `faults`: how bad things are. `store`: where the endpoint has its inbox; it outlives processes of the engine. */
  constructor(
    private readonly clock: SimClock,
    private readonly world: MonthWorld,
    private readonly dice: Dice,
    private readonly faults: number,
    private readonly store: SqliteStore,
  ) {}

  async readings(sources: readonly GivenSource[]): Promise<ReadonlyMap<string, GivenReading>> {
    const never = { table: undefined, triedAt: undefined, fault: undefined };
    return new Map(sources.map((source) => [source.name, { ...never, ...this.found.get(source.name), source }]));
  }

  /** What happens elsewhere within so many ms. */
  plan(ms: number): void {
    const { dice, clock } = this;
    for (let count = dice.whole(0, 2 + Math.ceil(ms / (2 * HOUR_MS))); count > 0; count -= 1)
      clock.after(dice.whole(0, ms), () => (dice.chance(0.6) ? this.say() : this.note()));
  }

  /** What is due comes in: signals, proofs of life, readings of tables. The engine waits meanwhile, or is in the middle of a run. */
  async go(): Promise<void> {
    if (this.isGoing) return;
    this.isGoing = true;
    for (const transmitter of TRANSMITTERS) await this.deliver(transmitter);
    for (const source of SOURCES) if (this.dice.chance(0.5)) await this.read(source);
    this.isGoing = false;
  }

  // Signals.

  private say(): void {
    const { dice, clock } = this;
    const { name } = dice.pick(TRANSMITTERS);
    const types = name === 'idp' ? [...OF_IDP] : [DETECTED, 'device-compliance-change', 'device-compliance-change'];
    const type = dice.pick(types);
    const agoMs = dice.chance(0.1) ? dice.whole(0, 4 * DAY_MS) : 0;
    const body = { ...this.bodyOf(type), ...(agoMs > 0 && { event_timestamp: (clock.trueMs - agoMs) / 1_000 }) };
    this.sent += 1;
    const claims = {
      ...{ iss: `https://${name}.test`, aud: 'https://us.test', iat: clock.trueMs / 1_000, sub_id: this.subject(name) },
      events: { [signalEventOf(type) as string]: body },
    };
    this.held.set(name, [...(this.held.get(name) ?? []), { jti: `j${this.sent}`, claims }]);
  }

  private bodyOf(type: string): Facts {
    const { dice } = this;
    if (type === DETECTED) return { level: dice.whole(1, 9), ...(dice.chance(0.5) && { tactic: 'persistence' }) };
    if (type === 'device-compliance-change')
      return dice.chance(0.1) ? {} : { current_status: dice.pick(['compliant', 'not-compliant']) };
    if (type === 'risk-level-change') return { principal: 'USER', current_level: dice.pick(['LOW', 'MEDIUM', 'HIGH']) };
    return dice.chance(0.3) ? { initiating_entity: dice.pick(['admin', 'user', 'policy']) } : {};
  }

  /** Now and then one that nobody has. */
  private subject(name: string): Facts {
    const { dice, world } = this;
    const device = dice.pick([...world.devices.values(), { DeviceID: 'd-none', SerialNumber: 'S-none' } as Facts]);
    const email = dice.pick([...world.users.keys(), 'nobody@main.test']);
    const { DeviceID, SerialNumber } = device as { DeviceID: string; SerialNumber: string };
    if (name === 'edr')
      return dice.chance(0.5)
        ? { format: 'opaque', id: SerialNumber }
        : { format: 'complex', device: { format: 'opaque', id: DeviceID } };
    const user: Facts = dice.chance(0.5)
      ? { format: 'email', email: dice.chance(0.3) ? email.toUpperCase() : email }
      : { format: 'iss_sub', iss: 'https://idp.test', sub: email };
    if (dice.chance(0.1)) return { format: 'opaque', id: dice.pick(['x1', 'x2', 'x9']) };
    if (dice.chance(0.5)) return user;
    return { format: 'complex', device: { format: 'opaque', id: SerialNumber }, ...(dice.chance(0.5) && { user }) };
  }

  /** Of an outage, what it could not keep is lost; what comes late, twice or forged is the receiver's to judge. */
  private async deliver(transmitter: Transmitter): Promise<void> {
    const { dice, clock } = this;
    const { name, keepsMs } = transmitter;
    if (clock.trueMs < (this.outages.get(name) ?? 0)) return;
    if (dice.chance(0.04 * this.faults)) this.outages.set(name, clock.trueMs + dice.whole(HOUR_MS, 3 * DAY_MS));
    this.receiving ??= await this.received();
    const { receiver, idp } = this.receiving;
    const held = this.held.get(name) ?? [];
    this.held.set(name, []);
    for (const { jti, claims } of held) {
      if (clock.trueMs - Number(claims.iat) * 1_000 > keepsMs) continue;
      const text = await idp.set(jti, claims);
      this.texts.push({ transmitter, text });
      await receiver.take(transmitter, dice.chance(0.05 * this.faults) ? `${text.slice(0, -8)}forged_8` : text);
    }
    const again = dice.chance(0.1) ? this.texts[dice.whole(0, this.texts.length)] : undefined;
    if (again) await receiver.take(again.transmitter, again.text);
    const toMs = clock.nowMs();
    const isAnew = dice.chance(0.02 * this.faults);
    if (dice.chance(0.85)) await receiver.contact(transmitter, { proven: { fromMs: toMs - keepsMs, toMs, isAnew } });
  }

  private async received(): Promise<{ idp: Idp; receiver: Receiver }> {
    const idp = await startIdp(this.clock);
    return { idp, receiver: receiverOf(this.store, idp, this.clock, { list: TRANSMITTERS }) };
  }

  // Tables of facts.

  /** Somebody writes a row of one of them, or takes it out. */
  private note(): void {
    const { dice, world } = this;
    const isOfDevices = dice.chance(0.5);
    const devices = [...world.devices.values()].map(({ SerialNumber }) => String(SerialNumber));
    const rows = this.rowsOf(isOfDevices ? 'inventory' : 'people');
    const all = isOfDevices ? devices : [...world.users.keys()];
    const make = isOfDevices ? () => this.item() : () => this.person();
    if (rows.size === 0) for (const key of all) rows.set(key, make());
    const key = dice.pick([...all, 'nobody@main.test']);
    if (dice.chance(0.1)) rows.delete(key);
    else rows.set(key, make());
  }

  private rowsOf(name: string): Map<string, Facts> {
    const rows = this.rows.get(name) ?? new Map<string, Facts>();
    this.rows.set(name, rows);
    return rows;
  }

  private item(): Facts {
    const { dice, clock } = this;
    const checked = dice.weighted({ now: 6, old: 2, none: 1, other: 1 });
    return {
      ...(dice.chance(0.9) && { status: dice.weighted({ 'in use': 5, returned: 2, lost: 1 }) }),
      ...(dice.chance(0.9) && { encrypted: dice.chance(0.05) ? 'yes' : dice.chance(0.7) }),
      ...(checked === 'now' && { checked: clock.trueMs }),
      ...(checked === 'old' && { checked: clock.trueMs - dice.whole(0, 9) * DAY_MS }),
      ...(checked === 'other' && { checked: 'yesterday' }),
    };
  }

  private person(): Facts {
    const { dice } = this;
    return {
      ...(dice.chance(0.9) && { state: dice.weighted({ active: 5, leaving: 2 }) }),
      ...(dice.chance(0.8) && { risk: dice.chance(0.05) ? 'high' : dice.whole(0, 9) }),
      ...(dice.chance(0.7) && { teams: dice.pick([[], ['ops'], ['ops', 'board']]) }),
    };
  }

  private async read(source: GivenSource): Promise<void> {
    const { dice, clock, faults } = this;
    const { name } = source;
    const before = this.found.get(name) ?? { source, table: undefined, triedAt: undefined, fault: undefined };
    const [triedAt, bad] = [clock.nowMs(), 0.3 * faults];
    const how = dice.weighted<Reading>({
      ...{ well: 10, failed: bad * 8, old: bad * 8, cut: bad * 6, moved: bad * 6, repeated: 1, gone: bad },
    });
    const rows = [...this.rowsOf(name)];
    if (how !== 'old') this.writtenMs.set(name, clock.nowMs());
    const atMs = this.writtenMs.get(name) ?? clock.nowMs();
    if (how === 'gone') this.found.set(name, { source, table: undefined, triedAt, fault: undefined });
    else if (how === 'failed' || rows.length === 0)
      this.found.set(name, { ...before, triedAt, fault: { text: 'it hangs', sinceMs: triedAt } });
    else {
      const table = await tableOf(source, this.spoilt(rows, how), { atMs, readAt: clock.nowMs() });
      this.found.set(name, { source, table, triedAt, fault: undefined });
    }
  }

  private spoilt(rows: [key: string, row: Facts][], how: Reading): [key: string, row: Facts][] {
    const { dice } = this;
    if (how === 'cut') return rows.slice(0, Math.ceil(rows.length / 3));
    if (how === 'moved') return rows.map(([key, row]) => [key, { ...row, status: 'lost', state: 'leaving' }]);
    const again = how === 'repeated' ? rows.filter(() => dice.chance(dice.pick([0.1, 0.9]))) : [];
    return [...rows, ...again.map(([key, row]): [string, Facts] => [key.toUpperCase(), row])];
  }
}

/** What the identity provider says of people and their devices. */
const OF_IDP = ['session-revoked', 'session-revoked', 'credential-change', 'risk-level-change', 'session-established'];

async function tableOf(
  source: GivenSource,
  rows: readonly [key: string, row: Facts][],
  times: Pick<FactTable, 'atMs' | 'readAt'>,
): Promise<FactTable> {
  const builder = new TableBuilder(source, false);
  for (const [at, [key, row]] of rows.entries()) builder.row({ ...row, [source.key.from]: key }, at + 1);
  const { pieces: _, ...content } = await builder.finish();
  return { source: source.name, meaning: 'of the month', ...times, ...content };
}
