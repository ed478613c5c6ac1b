// harness: what happens to workers, to PostgreSQL and to the ways between them, by a seed. In: how much of what. Out: the same, done, with what was
// noted of it. Meanwhile devices begin to match and clear, the consoles have faults, and persons command.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { Dice } from '../dice.ts';
import { changeTroubles, faultsOf } from '../troubles.ts';
import { type LeaseNow, leasesNow } from './fence-log.ts';
import type { WorkerLife, WorkerLives } from './worker-lives.ts';
import type { ChaosOrganization, WorkersWorld } from './world.ts';

/** How often: `takeover` is a kill of an acting worker, after which nothing else happens until another one acts. */
export type Blows = Record<'kill' | 'takeover' | 'postgres' | 'pause' | 'cut' | 'hang' | 'command', number>;

export interface Takeover {
  org: string;
  ms: number;
}

export interface Torment {
  done: Blows;
  takeovers: Takeover[];
  /** Processes of persons' commands. */
  personPids: Set<number>;
}

export interface Tormented {
  world: WorkersWorld;
  lives: WorkerLives;
  dice: Dice;
  /** The program, as arguments of node. */
  main: readonly string[];
  /** The most between two blows. */
  gapMsMax: number;
}

const COMMANDS = [['stop', '--reason', 'a test'], ['resume', '--reason', 'a test'], ['run']] as const;
const TAKEOVER_WAIT_MS = 90_000;

/** `torment`: what was done before; it is added to. */
export async function torment(tormented: Tormented, wanted: Blows, torment: Torment): Promise<void> {
  const nemesis = new Nemesis(tormented, torment);
  for (const blow of shuffled(wanted, tormented.dice)) await nemesis.strike(blow);
  await nemesis.end();
}

function shuffled(wanted: Blows, dice: Dice): (keyof Blows)[] {
  const deck = (Object.keys(wanted) as (keyof Blows)[]).flatMap((name) =>
    Array.from({ length: wanted[name] }, () => name),
  );
  for (let at = deck.length - 1; at > 0; at -= 1) {
    const other = dice.whole(0, at);
    [deck[at], deck[other]] = [deck[other] as keyof Blows, deck[at] as keyof Blows];
  }
  return deck;
}

class Nemesis {
  /** What goes on beside the next blows. */
  private readonly beside = new Set<Promise<void>>();

  constructor(
    private readonly of: Tormented,
    private readonly torment: Torment,
  ) {}

  async strike(blow: keyof Blows): Promise<void> {
    const { world, dice, gapMsMax } = this.of;
    for (const { console, troubles } of world.organizations) {
      if (dice.chance(0.5)) changeTroubles(console, troubles, dice);
      if (dice.chance(0.3)) console.faults?.set({ seed: dice.whole(1, 1_000_000), faults: faultsOf(dice) });
    }
    await systemClock.sleep(dice.whole(0, gapMsMax));
    await this[blow]();
    this.torment.done[blow] += 1;
  }

  /** Everything goes on, and nobody is stopped. */
  async end(): Promise<void> {
    await Promise.all(this.beside);
    for (const { id, console } of this.of.world.organizations) {
      console.faults?.clear();
      await this.person(id, COMMANDS[1]);
    }
  }

  private async kill(): Promise<void> {
    const { lives, dice } = this.of;
    const acting = dice.chance(0.6) ? (await this.acting())?.life : undefined;
    if (acting) await systemClock.sleep(dice.whole(0, 300));
    // One that is paused stays so until its time: a pause is longer than the lease.
    await lives.kill(acting ?? dice.pick(await this.awake()));
  }

  private async takeover(): Promise<void> {
    const { lives, world, dice } = this.of;
    await Promise.all(this.beside);
    let acting = await this.acting();
    while (!acting) {
      await systemClock.sleep(100);
      acting = await this.acting();
    }
    const { life, lease } = acting;
    const { console, troubles } = world.organizations.find(({ id }) => id === lease.org) as ChaosOrganization;
    const killedMs = systemClock.nowMs();
    await lives.kill(life);
    changeTroubles(console, troubles, dice);
    const last = (await this.leaseOf(lease.org)) ?? lease;
    // It had ended its work in the moment between: nothing is taken over.
    if (last.fence !== lease.fence || last.isClean) return;
    for (const untilMs = killedMs + TAKEOVER_WAIT_MS; systemClock.nowMs() < untilMs; await systemClock.sleep(100)) {
      const next = await this.leaseOf(lease.org);
      if (!next || next.fence === lease.fence || next.commits === last.commits) continue;
      this.torment.takeovers.push({ org: lease.org, ms: systemClock.nowMs() - killedMs });
      return;
    }
    this.torment.takeovers.push({ org: lease.org, ms: TAKEOVER_WAIT_MS });
  }

  private async postgres(): Promise<void> {
    const { world, dice } = this.of;
    world.cluster.kill();
    await systemClock.sleep(dice.whole(0, 1_500));
    await world.cluster.start();
  }

  private async pause(): Promise<void> {
    const { lives, dice } = this.of;
    const acting = dice.chance(0.8) ? (await this.acting())?.life : undefined;
    const life = acting ?? dice.pick(await this.awake());
    lives.pause(life);
    this.goesOn(systemClock.sleep(lives.leaseMs + dice.whole(200, 4_000)).then(() => lives.goOn(life)));
    // One worker at least is left to take over.
    if ((await this.awake()).length < 2) await Promise.all(this.beside);
  }

  /** One at least: one that ended by itself is started again in a moment. */
  private async awake(): Promise<WorkerLife[]> {
    const { lives } = this.of;
    for (;;) {
      const awake = lives.living().filter((life) => !lives.isPaused(life));
      if (awake.length > 0) return awake;
      await systemClock.sleep(50);
    }
  }

  private async cut(): Promise<void> {
    const { world, dice } = this.of;
    dice.pick(world.proxies).cut();
  }

  private async hang(): Promise<void> {
    const { world, lives, dice } = this.of;
    const proxy = dice.pick(world.proxies);
    proxy.hang(dice.pick(['both', 'to_client', 'to_server']));
    const isCut = dice.chance(0.5);
    this.goesOn(
      systemClock.sleep(dice.whole(500, lives.leaseMs + 4_000)).then(() => {
        if (isCut) proxy.cut();
        proxy.resume();
      }),
    );
  }

  private async command(): Promise<void> {
    const { world, dice } = this.of;
    this.goesOn(this.person(dice.pick(world.organizations).id, dice.pick(COMMANDS)));
  }

  /** Its exit code is not looked at: PostgreSQL may be away, or somebody else acts. What it did is in the record. */
  private async person(id: string, command: readonly string[]): Promise<void> {
    const child = spawn(process.execPath, [...this.of.main, ...command, '--org', id], {
      env: { ...process.env, ...this.of.world.person },
      stdio: 'ignore',
    });
    this.torment.personPids.add(child.pid as number);
    await once(child, 'exit');
  }

  /** A worker that acts at this moment, by what PostgreSQL has; waited for during a moment. */
  private async acting(): Promise<{ life: WorkerLife; lease: LeaseNow } | undefined> {
    const { world, lives } = this.of;
    for (let looks = 0; looks < 20; looks += 1) {
      for (const lease of await leasesNow(world.cluster, world.database)) {
        const life = lives.living().find(({ pid }) => pid === lease.pid && !lease.isClean);
        if (life && !lives.isPaused(life)) return { life, lease };
      }
      await systemClock.sleep(50);
    }
    return undefined;
  }

  private async leaseOf(id: string): Promise<LeaseNow | undefined> {
    const { cluster, database } = this.of.world;
    return (await leasesNow(cluster, database)).find(({ org }) => org === id);
  }

  private goesOn(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.beside.delete(tracked));
    this.beside.add(tracked);
  }
}
