// harness: many simulations in a row, and their figures. In: seeds. Out: sums, and each failing seed with how to replay it.
import { FOUND_WITHOUT, PLANTED_BUGS, type SeededBug } from './planted-bugs.ts';
import type { Without } from './profile.ts';
import { type SimulationResult, simulate } from './simulation.ts';

export interface CampaignFigures {
  seeds: number;
  crashPoints: number;
  requests: number;
  lost: number;
  doubled: number;
  unaudited: number;
  /** Violations of any other kind. */
  other: number;
  parked: number;
  confirmed: number;
  permittedRetries: number;
  /** Messages to people, checks that somebody asked for and what they undid, commits while a rollout was stopped. */
  told: number;
  checks: number;
  undoneByChecks: number;
  stoppedRollouts: number;
  /** One line for each failing seed. */
  failures: string[];
}

export function noFigures(): CampaignFigures {
  const counts = { seeds: 0, crashPoints: 0, requests: 0, lost: 0, doubled: 0, unaudited: 0, other: 0 };
  const warnings = { told: 0, checks: 0, undoneByChecks: 0, stoppedRollouts: 0 };
  return { ...counts, ...warnings, parked: 0, confirmed: 0, permittedRetries: 0, failures: [] };
}

const healthyLives = new Map<string, Promise<SimulationResult>>();

/** The life of a seed without any bug. INVARIANT: the same one each time (the simulation's own test), so it is led once. */
export function healthyLife(seed: number, without?: Without): Promise<SimulationResult> {
  const name = `${seed} ${without ?? ''}`;
  const life = healthyLives.get(name) ?? simulate(seed, { without });
  healthyLives.set(name, life);
  return life;
}

/** Plays seeds from `from` on until so many crash points are reached, or no seed is left. */
export async function runCampaign(from: number, seedsMax: number, crashPointsMin: number): Promise<CampaignFigures> {
  const figures = noFigures();
  for (let seed = from; seed < from + seedsMax && figures.crashPoints < crashPointsMin; seed += 1) {
    addResult(figures, await healthyLife(seed));
  }
  return figures;
}

export function addResult(figures: CampaignFigures, result: SimulationResult): void {
  figures.seeds += 1;
  figures.crashPoints += result.crashes;
  figures.requests += result.requests;
  figures.parked += result.parked;
  figures.confirmed += result.confirmed;
  figures.permittedRetries += result.retries;
  for (const name of ['told', 'checks', 'undoneByChecks', 'stoppedRollouts'] as const) figures[name] += result[name];
  for (const { kind } of result.violations) {
    if (kind === 'lost' || kind === 'doubled' || kind === 'unaudited') figures[kind] += 1;
    else figures.other += 1;
  }
  if (result.violations.length > 0) figures.failures.push(failureLine(result));
}

export function addFigures(sum: CampaignFigures, more: CampaignFigures): void {
  const { failures, ...counts } = more;
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) sum[name] += counts[name];
  sum.failures.push(...failures);
}

/** What went wrong, and how to see it again. */
export function failureLine({ seed, violations }: SimulationResult): string {
  const said = violations.map(({ kind, text }) => `${kind}: ${text}`).join('; ');
  return `seed ${seed}: ${said} (replay: SIM_SEED=${seed} npm run test:all -- test/harness/simulation.slow.test.ts)`;
}

export function figuresLine(figures: CampaignFigures, seconds: number): string {
  const { crashPoints, lost, doubled, unaudited, other, parked, confirmed, permittedRetries, requests, seeds } =
    figures;
  const { told, checks, undoneByChecks, stoppedRollouts } = figures;
  return [
    `${crashPoints} crash points, ${lost} lost, ${doubled} doubled, ${unaudited} unaudited, ${other} other violations`,
    `${requests} requests, ${confirmed} doubts confirmed, ${parked} parked, ${permittedRetries} permitted retries`,
    `${told} messages to people, ${checks} checks again with ${undoneByChecks} undos, ${stoppedRollouts} commits while a rollout was stopped`,
    `${seeds} seeds, ${seconds.toFixed(0)} s`,
  ].join('; ');
}

/**
 * The seed at which the checker finds a planted bug, and nothing without the bug: the registered one, perhaps from before there were slow
 * platforms, several calls at once, looks, people who reverse at once or warnings, or else the first that can be registered.
 */
export async function seedThatFinds(bug: SeededBug, seedsMax: number): Promise<number | undefined> {
  const names = Object.keys(FOUND_WITHOUT) as Without[];
  const lives: { seed: number; without?: Without | undefined }[] = [
    { seed: PLANTED_BUGS[bug], without: names.find((name) => FOUND_WITHOUT[name]?.includes(bug)) },
  ];
  for (let seed = 1; seed <= seedsMax; seed += 1) lives.push({ seed });
  for (const { seed, without } of lives) {
    const { violations } = await simulate(seed, { bug, without });
    if (violations.length > 0 && (await healthyLife(seed, without)).violations.length === 0) return seed;
  }
  return undefined;
}
