import { AppError } from '../../src/domain/errors.ts';
import type { Ids } from '../../src/domain/ports.ts';
import {
  acceptSnapshot,
  addExemption,
  endExemption,
  resumeEverything,
  stopEverything,
} from '../../src/engine/operate/commands.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import type { Dice } from './dice.ts';
import { JUMPS, type RuleShelf } from './happenings.ts';
import type { Ledger } from './ledger.ts';
import type { PeopleProfile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';
import type { World } from './world.ts';

export interface PeopleParts {
  /** The one writer at this moment. */
  readonly store: EngineStore;
  clock: SimClock;
  ids: Ids;
  dice: Dice;
  world: World;
  ledger: Ledger;
  shelf: RuleShelf;
  chances: PeopleProfile;
  tends: boolean;
  /** They write serial numbers in another case than the records. */
  parts: boolean;
}

export class People {
  private underWay: Promise<void>[] = [];
  readonly faults: unknown[] = [];

  constructor(private readonly parts: PeopleParts) {}

  /** Puts a round's commands on the clock, within so many ms from now. */
  schedule(withinMs: number): void {
    const { dice, clock, chances, world, shelf } = this.parts;
    const at = (happen: () => void, least = 0) => clock.after(least + dice.whole(0, withinMs), happen);
    if (dice.chance(chances.stop)) {
      at(() => this.say(() => stopEverything(this.parts, PERSON)));
      at(() => this.say(() => resumeEverything(this.parts, PERSON)), dice.pick([0, 5_000, 120_000]));
    }
    if (dice.chance(chances.exempt)) at(() => this.exempt());
    if (dice.chance(chances.exempt)) at(() => this.endExemption());
    if (dice.chance(chances.lose)) {
      const lost = dice.chance(0.7) ? 'TRUE' : 'FALSE';
      at(() => world.setTrouble(world.born.devices.at(-1)?.id as string, 'Lost', lost));
    }
    if (dice.chance(chances.leave)) {
      const { email } = dice.pick(world.born.users);
      const told = dice.weighted({ TRUE: 50, FALSE: 30, unlisted: 20 });
      at(() => world.setLeaver(email, told === 'unlisted' ? undefined : told));
    }
    if (this.parts.tends && dice.chance(0.3)) at(this.tending());
    if (this.parts.tends && dice.chance(0.3))
      at(() => this.acceptShrunk(dice.pick(['devices', 'devices', 'services', 'users'])));
    if (dice.chance(chances.enroll)) at(() => world.enroll());
    if (dice.chance(chances.edit)) at(() => shelf.edit(dice));
    if (dice.chance(chances.jump)) at(() => clock.jump(dice.chance(0.4) ? 0 : dice.pick(JUMPS)));
  }

  /** The command is committed, or refused. */
  async heard(): Promise<void> {
    const said = this.underWay;
    this.underWay = [];
    await Promise.all(said);
  }

  /** What an exemption may cover. */
  anybody(): { subject?: { kind: string; id: string }; selector?: { field: string; value: string } } {
    const { dice, world, parts } = this.parts;
    const { devices, services, users } = world.born;
    const device = dice.pick(devices);
    const kind = dice.weighted({ device: 4, serial: 3, user: 2, service: services.length > 0 ? 2 : 0 });
    const serial = parts && dice.chance(0.6) ? device.serial.toLowerCase() : device.serial;
    if (kind === 'serial') return { selector: { field: 'SerialNumber', value: serial } };
    const id = kind === 'device' ? device.id : kind === 'user' ? dice.pick(users).email : (services[0]?.id as string);
    return { subject: { kind, id } };
  }

  /** With few services a deleted one is a large share: an operator confirms that it is really gone. */
  async acceptAll(): Promise<void> {
    for (const source of ['devices', 'services', 'users']) this.acceptShrunk(source);
    await this.heard();
  }

  /** At the end every command is reversed: nothing is stopped any more, and half of the exemptions are ended. */
  async leave(): Promise<void> {
    const { store, clock, dice } = this.parts;
    if (await store.stop()) this.say(() => resumeEverything(this.parts, PERSON));
    for (const { id } of await store.exemptions(clock.nowMs()))
      if (dice.chance(0.5)) this.say(() => endExemption(this.parts, id, PERSON));
    await this.heard();
  }

  /** A service is exposed, or not used any more and so disabled; or somebody takes its TLS away again. */
  private tending(): () => void {
    const { dice, world } = this.parts;
    const { id } = dice.pick(world.born.services);
    const what = dice.weighted({ Exposed: 45, Retired: 35, loosen: 20 });
    const told = dice.weighted({ TRUE: 60, FALSE: 30, unlisted: 10 });
    const isDisabled = dice.chance(0.8);
    if (what === 'loosen') return () => world.take('loosen', id, undefined);
    return () => {
      world.setServiceTrouble(id, what, told === 'unlisted' ? undefined : told);
      if (what === 'Retired' && told === 'TRUE' && isDisabled) world.take('disable', id, undefined);
    };
  }

  /** They accept what the last run did not trust, if there is such a list. */
  private acceptShrunk(source: string): void {
    this.say(() => acceptSnapshot(this.parts, source, PERSON));
  }

  private exempt(): void {
    const request = { ...this.anybody(), unseen: true, owner: 'somebody', reason: REASON, until: '365d' };
    this.say(() => addExemption(this.parts, request, 'a person'));
  }

  private endExemption(): void {
    const { store, clock, dice } = this.parts;
    this.say(async () => {
      const [first] = await store.exemptions(clock.nowMs());
      if (first && dice.chance(0.7)) await endExemption(this.parts, first.id, PERSON);
    });
  }

  private say(command: () => Promise<unknown>): void {
    const said = command().then(
      () => {},
      (error: unknown) => {
        if (!(error instanceof AppError && REFUSED.has(error.code))) this.faults.push(error);
      },
    );
    this.underWay.push(said);
  }
}

/** Possible answers: it is already so, or there is nothing of the kind. */
const REFUSED: ReadonlySet<string> = new Set(['conflict', 'not_found']);
const REASON = 'somebody knows why';
export const PERSON = { by: 'a person', reason: REASON };
