// harness: workers as processes: started, killed, paused, and started again when they end by themselves, as whoever runs them would do. In: a
// world. Out: each life with its process, and when it was paused.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { LEASE_MS } from '../../../src/domain/lease.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { settingsFor, type WorkersWorld } from './world.ts';

export interface Pause {
  fromMs: number;
  /** Undefined: it goes on. */
  toMs: number | undefined;
}

export interface WorkerLife {
  /** As the consoles know it. */
  name: string;
  place: number;
  pid: number;
  child: ChildProcess;
  startedMs: number;
  endedMs: number | undefined;
  pauses: Pause[];
}

const AGAIN_MS = 300;

export class WorkerLives {
  readonly all: WorkerLife[] = [];
  /** Ended without being asked to. */
  endedByThemselves = 0;
  /** Of those that are started from now on. */
  leaseMs = LEASE_MS;
  private isOver = false;

  constructor(
    private readonly world: WorkersWorld,
    /** The program, as arguments of node. */
    private readonly program: readonly string[],
  ) {}

  /** At each place a new one, with this lease. */
  async replaceAll(leaseMs: number): Promise<void> {
    this.leaseMs = leaseMs;
    for (const place of this.world.proxies.keys()) {
      const life = this.at(place);
      if (life) await this.kill(life);
      else this.start(place);
    }
  }

  at(place: number): WorkerLife | undefined {
    return this.all.findLast((life) => life.place === place && life.endedMs === undefined);
  }

  living(): WorkerLife[] {
    return [...this.world.proxies.keys()].flatMap((place) => this.at(place) ?? []);
  }

  start(place: number): WorkerLife {
    const name = `worker-${this.all.length + 1}`;
    const env = settingsFor(this.world, name, this.world.proxies[place]?.port);
    const log = openSync(join(this.world.folder, `${name}.log`), 'a');
    const child = spawn(process.execPath, [...this.program], {
      env: { ...process.env, ...env, TRUSTWARD_LEASE: `${this.leaseMs}ms` },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const startedMs = systemClock.nowMs();
    const life: WorkerLife = {
      name,
      place,
      pid: child.pid as number,
      child,
      startedMs,
      endedMs: undefined,
      pauses: [],
    };
    this.all.push(life);
    child.once('exit', () => this.ended(life));
    return life;
  }

  /** kill -9, and another one in its place. */
  async kill(life: WorkerLife): Promise<void> {
    await this.end(life, 'SIGKILL');
    if (!this.isOver) this.start(life.place);
  }

  pause(life: WorkerLife): void {
    life.child.kill('SIGSTOP');
    life.pauses.push({ fromMs: systemClock.nowMs(), toMs: undefined });
  }

  /** Noted before it goes on, so that whatever it does then is later. */
  goOn(life: WorkerLife): void {
    const pause = life.pauses.at(-1);
    if (pause) pause.toMs = systemClock.nowMs();
    life.child.kill('SIGCONT');
  }

  isPaused(life: WorkerLife): boolean {
    return life.pauses.some(({ toMs }) => toMs === undefined);
  }

  async stopAll(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.isOver = true;
    await Promise.all(this.living().map((life) => this.end(life, signal)));
  }

  private async end(life: WorkerLife, signal: NodeJS.Signals): Promise<void> {
    if (life.endedMs !== undefined) return;
    const exited = once(life.child, 'exit');
    life.endedMs = systemClock.nowMs();
    life.child.kill(signal);
    await exited;
  }

  private ended(life: WorkerLife): void {
    if (life.endedMs !== undefined) return;
    life.endedMs = systemClock.nowMs();
    this.endedByThemselves += 1;
    void systemClock.sleep(AGAIN_MS).then(() => {
      if (!this.isOver && !this.at(life.place)) this.start(life.place);
    });
  }
}
