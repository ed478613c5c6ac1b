// bench: a lively fleet in memory, for a simulated year: in each run a part of it changes its verdict, and events come. In: a clock. Out: the
// platform that the engine reads and writes. What happens follows from the numbers of devices and runs alone.
import type { Facts } from '../../src/domain/facts.ts';
import type { EventQuery } from '../../src/domain/ports.ts';
import type { FakeClock } from '../../test/support/platform.ts';
import { FoundAtOnce } from '../found-at-once.ts';

/**
 * What of `MdmData` changes in a run, in how many devices; as many change back: 100 verdicts. Most are about a fact that is missing for a while,
 * which leads to no decision. Measured from outside, such a fleet had 16 KB of decisions, 28 KB of audit and 74 KB of plans a run.
 */
const BEGIN_EACH_RUN = { CompromisedStatus: 2, Held: 8, Noticed: 4, Encrypted: 36 } as const;
type Field = keyof typeof BEGIN_EACH_RUN;
const BEGUN = { CompromisedStatus: 'TRUE', Held: 'TRUE', Noticed: 'TRUE', Encrypted: null };
const OVER = { CompromisedStatus: 'FALSE', Held: 'FALSE', Noticed: 'FALSE', Encrypted: 'TRUE' };
const FIELDS = Object.keys(BEGIN_EACH_RUN) as Field[];
/** How many runs a device stays so. In them 1,800 devices have their turn: a smaller fleet would meet itself. */
const RUNS_LONG = 12;
const EVENTS_EACH_RUN = 100;

export class LivelyFleet extends FoundAtOnce {
  private next = 0;
  private readonly begun: Record<Field, number[]>[] = [];
  private eventsMade = 0;
  private readonly fleetClock: FakeClock;

  constructor(
    clock: FakeClock,
    private readonly size: number,
  ) {
    super(clock);
    this.fleetClock = clock;
    for (let number = 0; number < size; number += 1) this.addDevice(idOf(number), deviceFields(number));
  }

  /** What happens between two runs. */
  live(everyMs: number): void {
    const begins = {} as Record<Field, number[]>;
    for (const field of FIELDS) {
      begins[field] = Array.from({ length: BEGIN_EACH_RUN[field] }, () => this.nextDevice());
      for (const number of begins[field]) this.set(number, field, BEGUN[field]);
    }
    this.begun.push(begins);
    const over = this.begun.length > RUNS_LONG ? this.begun.shift() : undefined;
    for (const field of FIELDS) for (const number of over?.[field] ?? []) this.set(number, field, OVER[field]);
    this.addEvents(everyMs);
  }

  override async events({ afterMs = 0, skip = 0, limit = 10 }: EventQuery): Promise<unknown[]> {
    return this.eventLog.filter(({ created_at: at }) => Number(at) >= afterMs).slice(skip, skip + limit);
  }

  /** The devices in turn, so that years pass before one is the same as another. */
  private nextDevice(): number {
    this.next = (this.next + 7) % this.size;
    return this.next;
  }

  private set(number: number, field: Field, value: string | null): void {
    const mdm = this.devices.get(idOf(number))?.MdmData as Facts;
    this.patch(idOf(number), { MdmData: { ...mdm, [field]: value } });
  }

  private addEvents(everyMs: number): void {
    const nowMs = this.fleetClock.now;
    for (let count = 0; count < EVENTS_EACH_RUN; count += 1) {
      this.eventsMade += 1;
      this.eventLog.push(
        eventOf(this.eventsMade, this.nextDevice(), nowMs - everyMs + (count * everyMs) / EVENTS_EACH_RUN),
      );
    }
    // The server keeps no more of them than a collector can still read.
    const gone = this.eventLog.findIndex(({ created_at: at }) => Number(at) >= nowMs - 12 * everyMs);
    this.eventLog.splice(0, gone);
  }
}

function idOf(number: number): string {
  return `d${String(number).padStart(6, '0')}-${hex(number, 8)}-4c1e`;
}

/** So that ids and digests do not compress better than those of a real platform. */
function hex(number: number, digits: number): string {
  let text = '';
  for (let state = Math.imul(number + 1, 2_654_435_761) >>> 0; text.length < digits; ) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    text += state.toString(16).padStart(8, '0');
  }
  return text.slice(0, digits);
}

function deviceFields(number: number): Facts {
  const scored = { EntityTrustscore: 40 + (number % 60), Level: 'Medium', UpdatedAt: '1799990000000000000' };
  return {
    DeviceFriendlyName: `Laptop ${number} of ${hex(number, 6)}`,
    Emails: [`person${number % 12_000}@example.com`],
    Platform: ['Windows', 'macOS', 'iOS', 'Android'][number % 4] as string,
    TrustData: scored,
    // One in fifty has not reported its encryption: the rule about it does not know.
    MdmData: { ...(number % 50 > 0 && { Encrypted: 'TRUE' }), Held: 'FALSE', Noticed: 'FALSE' },
  };
}

const ACTIONS = ['Authorized', 'Unauthorized', 'Grant', 'MDM'];

function eventOf(number: number, device: number, atMs: number): Facts {
  const id = hex(number, 32);
  const user = {
    id: hex(device + 7, 24),
    email: `person${device % 12_000}@example.com`,
    groups: ['Everyone', 'Staff'],
  };
  const principal = { id: idOf(device), serial_number: `S-${idOf(device)}`, friendly_name: `Laptop ${device}` };
  return {
    id: `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`,
    created_at: Math.floor(atMs),
    external_id: hex(number + 3, 16),
    severity: number % 9 === 0 ? 'ERROR' : 'INFO',
    type: 'Access',
    sub_type: 'Connection',
    action: ACTIONS[number % 4] as string,
    result: '',
    user_principal: { device: { ...principal, platform: 'macOS', ownership: 'Corporate Dedicated' }, user },
    client: {
      ip_address: `10.${number % 250}.${device % 250}.7`,
      user_agent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5)',
    },
    service: { id: hex(number % 20, 16), name: `service-${number % 20}.eu-west` },
    link: {
      source: {},
      destination: { service_name: `service-${number % 20}.eu-west`, container_id: hex(number % 20, 16) },
    },
    policy: { name: 'default-access', enforced: true },
    role: ['Everyone', 'Staff'],
    org_id: '6f0c3a51-8a3e-4f0e-9d0b-2f7e6a4f1b11',
    org_name: 'Example Organization',
  };
}
