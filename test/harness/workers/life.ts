// harness: one torment of workers from its beginning to its judgement. In: a seed, and how much of what. Out: figures, and the line that shows
// them.
import { built } from '../../support/built.ts';
import { Dice } from '../dice.ts';
import { killLine } from '../kill-checks.ts';
import { checkWorkers, type WorkersFigures } from './check-workers.ts';
import { type Blows, type Torment, torment } from './nemesis.ts';
import { type Settling, settle } from './settle.ts';
import { WorkerLives } from './worker-lives.ts';
import { openWorld, QUIET_MS } from './world.ts';

export interface Phase {
  leaseMs: number;
  /** The most between two blows. */
  gapMsMax: number;
  blows: Partial<Blows>;
}

export interface Course {
  seed: number;
  places: number;
  organizations: number;
  /** One after the other: workers of a later one may have another lease. */
  phases: readonly Phase[];
  settling: Settling;
}

export interface Judgement {
  torment: Torment;
  all: WorkersFigures[];
  lives: number;
  endedByThemselves: number;
  seconds: number;
}

/** What is asked of a takeover. */
export const TAKEOVER_MS_MAX = 30_000 + QUIET_MS;

const NONE: Blows = { kill: 0, takeover: 0, postgres: 0, pause: 0, cut: 0, hang: 0, command: 0 };
const MAIN = [built('src/main.ts')];

export async function tormentAndJudge({ seed, places, organizations, phases, settling }: Course): Promise<Judgement> {
  const started = performance.now();
  const world = await openWorld(places, organizations);
  const lives = new WorkerLives(world, [...MAIN, 'worker']);
  try {
    const dice = new Dice(seed, 'workers');
    const done: Torment = { done: { ...NONE }, takeovers: [], personPids: new Set() };
    for (const { leaseMs, gapMsMax, blows } of phases) {
      await lives.replaceAll(leaseMs);
      const of = { world, lives, dice, main: MAIN, gapMsMax };
      await torment(of, { ...NONE, ...blows }, done);
    }
    await settle(world, lives, settling);
    const all = await checkWorkers(world, lives.all, done);
    const seconds = (performance.now() - started) / 1_000;
    return { torment: done, all, lives: lives.all.length, endedByThemselves: lives.endedByThemselves, seconds };
  } finally {
    await lives.stopAll('SIGKILL');
    if (process.env.CHAOS_KEEP) process.stdout.write(`kept: ${world.folder}\n`);
    else await world.close();
  }
}

export function lineOfWorkers({
  torment: { done, takeovers },
  all,
  lives,
  endedByThemselves,
  seconds,
}: Judgement): string {
  const sum = (field: 'fences' | 'takenOver' | 'inWindow' | 'twoActors') =>
    all.reduce((total, figures) => total + figures[field], 0);
  const slowest = Math.max(0, ...takeovers.map(({ ms }) => ms)) / 1_000;
  const kills = done.kill + done.takeover;
  return [
    `${all.length} organizations, ${lives} lives of workers (${endedByThemselves} ended by themselves), ${done.postgres} kills of PostgreSQL, ${done.pause} pauses beyond the lease, ${done.cut} cuts and ${done.hang} hangs of connections, ${done.command} commands`,
    `${sum('fences')} leases (${sum('takenOver')} after an actor that did not release), ${sum('twoActors')} two actors, ${sum('inWindow')} requests in the documented window`,
    `${takeovers.length} takeovers measured, the slowest ${slowest.toFixed(1)} s`,
    killLine(
      all.map((figures, index) => ({ ...figures, kills: index === 0 ? kills : 0 })),
      seconds,
    ),
  ].join('; ');
}
