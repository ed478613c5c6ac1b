// bench: who can write trust data steers nothing. Seeded campaigns of attackers against the real console and the real engine over the shipped
// rules, all in mode enforce; docs/benchmarks.md says of each kind what it does and what counts as naming it. Usage: npm run bench -- poison;
// alone: node --import tsx bench/poison.ts [--campaigns N] [--minutes N] [--seed N] [--kind K] [--quiet N] [--tell] [--check].
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACTIONS } from '../src/engine/act/actions.ts';
import type { LoadedRule } from '../src/rules/language/loaded-rule.ts';
import { parseRule } from '../src/rules/load/read-rule.ts';
import { isShort, report } from './figures.ts';
import { EXEMPT_PERSON, KINDS, KIOSK } from './poison/attacks.ts';
import { type Campaign, campaign } from './poison/campaign.ts';
import { diceOf, HOUR_MS, MINUTE_MS, Organization, type TrueDevice } from './poison/organization.ts';
import { quietMonth } from './poison/quiet.ts';

const CAMPAIGNS_EACH = 2;
const args = process.argv.slice(2);
const given = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const kinds = KINDS.filter((kind) => (given('--kind') ?? kind) === kind);
const count = Number(given('--campaigns') ?? (given('--kind') ? CAMPAIGNS_EACH : isShort ? 16 : 800));
const months = Number(given('--quiet') ?? (isShort || given('--kind') ? 0 : 4));
const firstSeed = Number(given('--seed') ?? 1);
/** No campaign begins after this. */
const untilMs = performance.now() + Number(given('--minutes') ?? Infinity) * MINUTE_MS;
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'trustward-poison-'));
const rules = shippedRules();

try {
  const all: (Campaign & { seed: number })[] = [];
  for (let seed = firstSeed; all.length < count && performance.now() < untilMs; seed += 1)
    all.push(...(await campaignsOf(seed)));
  const alarms: string[][] = [];
  for (let seed = firstSeed; alarms.length < months; seed += 1)
    alarms.push(await quietMonth(planOf(seed), join(folder, `${seed}.db`)));
  tellTable(all, alarms);
  if (args.includes('--check') && (all.some(isFailure) || shareNamed(all).named < 95)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function campaignsOf(seed: number): Promise<(Campaign & { seed: number })[]> {
  const org = await Organization.begin(planOf(seed), join(folder, 'quiet.db'));
  const exempt = await liveQuietly(org, (isShort ? 14 : 30) * HOUR_MS);
  const found: (Campaign & { seed: number })[] = [];
  for (const kind of kinds)
    for (let number = 0; number < CAMPAIGNS_EACH; number += 1) {
      const one = { seed, ...(await campaign(org, kind, number, join(folder, 'campaign.db'), exempt)) };
      found.push(one);
      if (isFailure(one) || args.includes('--tell')) tell(one);
    }
  await org.end();
  process.stderr.write(`poison: seed ${seed} done\n`);
  return found;
}

/** Until the engine has learned what is usual; exemptions are made on the way. */
async function liveQuietly(org: Organization, lastingMs: number): Promise<TrueDevice> {
  const exempt = [...org.truth.values()].find(({ ordinary }) => ordinary) as TrueDevice;
  org.console.fleet.addUser(EXEMPT_PERSON);
  for (let passed = 0; passed < lastingMs; passed += org.plan.everyMs) {
    org.ordinary();
    await org.run();
    if (passed > 0) continue;
    await org.exempt({ selector: { field: 'SerialNumber', value: exempt.serial } });
    await org.exempt({ selector: { field: 'DeviceFriendlyName', value: KIOSK } });
    await org.exempt({ subject: { kind: 'user', id: EXEMPT_PERSON } });
  }
  return exempt;
}

function planOf(seed: number) {
  const dice = diceOf(seed, 'plan');
  const devices = dice.chance(0.9) ? dice.whole(40, 80) : dice.whole(80, 400);
  return { seed, devices, everyMs: dice.pick([10, 15, 30]) * MINUTE_MS, rules };
}

/** As they are shipped, but that no person has to approve what they do. */
function shippedRules(): LoadedRule[] {
  const dir = new URL('../rules/', import.meta.url).pathname;
  return readdirSync(dir)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => {
      const text = readFileSync(join(dir, name), 'utf8').replace(/^mode: approve$/m, 'mode: enforce');
      const parsed = parseRule(text, name, { traits: ACTIONS });
      if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
      return parsed.rule;
    });
}

function isFailure({ lifted, beyond, free }: Campaign): boolean {
  return lifted + beyond + free > 0;
}

function tell({ seed, kind, variant, tale, lifted, free, stuck, beyond, named }: Campaign & { seed: number }): void {
  process.stdout.write(
    `--seed ${seed} --kind ${kind} (${variant}): lifted ${lifted}, free ${free}, stuck ${stuck}, beyond ${beyond}, named ${named}\n`,
  );
  if (args.includes('--tell')) process.stdout.write(`${tale.map((line) => `    ${line}`).join('\n')}\n`);
}

function tellTable(all: readonly Campaign[], alarms: readonly string[][]): void {
  const sum = (of: readonly Campaign[], what: 'lifted' | 'free' | 'stuck' | 'beyond' | 'misled') =>
    of.reduce((total, each) => total + each[what], 0);
  const bench = 'poison';
  process.stdout.write('kind     campaigns  void  mattered  named%  lifted  free  stuck  beyond  misled\n');
  for (const kind of kinds) {
    const of = all.filter((each) => each.kind === kind);
    const { mattered, named } = shareNamed(of);
    const cells = [
      of.length,
      of.filter((each) => each.void).length,
      mattered,
      named.toFixed(1),
      sum(of, 'lifted'),
      sum(of, 'free'),
      sum(of, 'stuck'),
      sum(of, 'beyond'),
      sum(of, 'misled'),
    ];
    const widths = [9, 4, 8, 6, 6, 4, 5, 6, 6];
    process.stdout.write(
      `${kind.padEnd(8)} ${cells.map((cell, at) => String(cell).padStart(widths[at] as number)).join('  ')}\n`,
    );
    for (const variant of new Set(of.filter(({ named }) => named === false).map((each) => each.variant)))
      process.stdout.write(
        `    not named: ${variant}: ${of.filter((each) => each.variant === variant && each.named === false).length}\n`,
      );
  }
  report({ bench, what: 'campaigns', value: all.length, unit: '' });
  report({ bench, what: 'bans lifted by the attacker', value: sum(all, 'lifted'), unit: '', atMost: 0 });
  report({ bench, what: 'acts beyond limits', value: sum(all, 'beyond'), unit: '', atMost: 0 });
  report({ bench, what: 'compromised devices left free after it', value: sum(all, 'free'), unit: '', atMost: 0 });
  report({ bench, what: 'named within two runs', value: shareNamed(all).named, unit: '%', atLeast: 95 });
  report({ bench, what: 'simulated quiet days', value: alarms.length * 30, unit: '' });
  for (const alarm of alarms.flat()) process.stdout.write(`    false alarm: ${alarm}\n`);
  if (alarms.length > 0)
    report({
      bench,
      what: 'false alarms in 30 quiet days, the mean',
      value: alarms.flat().length / alarms.length,
      unit: '',
      atMost: 1,
    });
}

function shareNamed(of: readonly Campaign[]): { mattered: number; named: number } {
  const mattered = of.filter(({ named }) => named !== undefined);
  const named = mattered.filter((each) => each.named).length;
  return { mattered: mattered.length, named: mattered.length === 0 ? 100 : (100 * named) / mattered.length };
}
