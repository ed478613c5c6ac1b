// bench: what judging costs, beside json-logic-js, its compiled peer, json-rules-engine and hand-written predicates,
// over the same 20,000 devices and 50 rules in one process. In: nothing. Out: figures as ratios, since machines differ, and a table.
// The contenders run in one order, by processor time. Each rests first (garbage is collected, then a pause) and does one pass that is not timed.

import { loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { LogicEngine } from 'json-logic-engine';
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { Engine } from 'json-rules-engine';
import type { Facts } from '../src/domain/facts.ts';
import type { JudgeContext } from '../src/domain/verdict.ts';
import { compileRules } from '../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../src/rules/language/loaded-rule.ts';
import { parseRule } from '../src/rules/load/read-rule.ts';
import { isShort, report } from './figures.ts';
import { NOTIFY } from './notify-traits.ts';
import { type BenchDevice, CONDITIONS } from './rule-conditions.ts';

const DEVICES = 20_000;
const ROUNDS = isShort ? 24 : 60;
/** The slow contenders take part in every fourth round. */
const SLOW_EVERY = isShort ? 12 : 4;
const PAUSE_MS = 10;
const NOW_MS = 1_768_478_400_000;

/** A small generator of its own, so that every run sees the same fleet (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function fleet(count: number): BenchDevice[] {
  const random = seeded(42);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const flag = (share: number): string => (random() < share ? 'TRUE' : 'FALSE');
  // As JSON.parse gives them: json-logic-engine cannot compare big integers.
  const time = (): number => 1_768_000_000_000_000_000 - Math.floor(random() ** 4 * 1.85e7) * 1_000_000_000;
  return Array.from({ length: count }, (_, index) => ({
    DeviceID: `device-${index}`,
    SerialNumber: `SN${index}`,
    DeviceFriendlyName: `Device ${index}`,
    Ownership: pick(['Corporate Dedicated', 'Corporate Shared', 'Employee Owned', 'Other']),
    Platform: pick(['Windows', 'macOS', 'Linux', 'iOS', 'Android']),
    Model: pick(['A', 'B', 'C']),
    RegisteredStatus: flag(0.95),
    LoginCount: Math.floor(random() * 2_000),
    LastLogin: time(),
    Roles: random() < 0.005 ? ['employee', 'contractor'] : ['employee'],
    MdmData: {
      Timestamp: random() < 0.005 ? 0 : time(),
      Source: 'mdm',
      CompromisedStatus: flag(0.002),
      CompliantStatus: flag(0.995),
    },
    TrustData: {
      EntityTrustscore: 100 - Math.floor(random() ** 16 * 101),
      AccessTrustscore: Math.floor(random() * 101),
      OverrideActive: flag(0.02),
      Level: random() < 0.005 ? pick(['AlwaysDeny', 'Low']) : pick(['Medium', 'High', 'AlwaysAllow']),
      Factors: [
        { Name: 'disk', Value: random() < 0.002 ? 'FAIL' : 'OK' },
        { Name: 'firewall', Value: random() < 0.002 ? 'FAIL' : 'OK' },
      ],
    },
  }));
}

function ruleOf(id: string, when: string): LoadedRule {
  const parsed = parseRule(`{"id":"${id}","subject":"device","when":${when},"then":"notify"}`, `${id}.json`, {
    traits: new Map([['notify', NOTIFY]]),
  });
  if ('problems' in parsed) throw new Error(parsed.problems.map((problem) => problem.message).join('; '));
  return parsed.rule;
}

const CONTEXT: JudgeContext = {
  nowMs: NOW_MS,
  joins: { users: new Map(), devices: new Map() },
  coverage: [],
  unavailable: new Set(),
  isOpen: () => false,
  hasOpen: () => false,
};

/** Judges all devices; answers how often some rule matched. */
function judging(rules: LoadedRule[]): (devices: readonly BenchDevice[]) => number {
  const evaluator = compileRules(rules);
  return (devices) => {
    const judge = evaluator.judge('device', CONTEXT);
    for (const device of devices) judge.accept(device as unknown as Facts);
    return judge.finish().tallies.reduce((sum, tally) => sum + tally.match, 0);
  };
}

/** Calls every predicate for every device. */
function asking(predicates: ((device: BenchDevice) => unknown)[]): (devices: readonly BenchDevice[]) => number {
  return (devices) => {
    let matches = 0;
    for (const device of devices) {
      for (const predicate of predicates) if (jsonLogic.truthy(predicate(device))) matches++;
    }
    return matches;
  };
}

function handWritten(): (devices: readonly BenchDevice[]) => number {
  const predicates = CONDITIONS.map(({ byHand }) => byHand);
  return (devices) => {
    let matches = 0;
    for (const device of devices) {
      for (const predicate of predicates) if (predicate(device)) matches++;
    }
    return matches;
  };
}

const OPERATORS: Record<string, string> = {
  '==': 'equal',
  '!=': 'notEqual',
  '<': 'below',
  '>=': 'atLeast',
  in: 'in',
  some: 'someFail',
};

/** The same condition in json-rules-engine's own format. */
function engineCondition(node: RulesLogic): object {
  const [name, args] = Object.entries(node as object)[0] as [string, RulesLogic[]];
  if (name === 'and') return { all: args.map(engineCondition) };
  if (name === 'or') return { any: args.map(engineCondition) };
  if (name === '!') return { not: engineCondition(args[0] as RulesLogic) };
  const [a, b] = args as [unknown, unknown];
  const listIsFact = name === 'in' && typeof a === 'string';
  const path = ((listIsFact ? b : a) as { var: string }).var;
  const fact = { fact: 'device', path: `$.${path}` };
  if (name === 'some') return { ...fact, operator: 'someFail', value: 'FAIL' };
  return { ...fact, operator: listIsFact ? 'contains' : OPERATORS[name], value: listIsFact ? a : b };
}

async function rulesEngine(devices: readonly BenchDevice[]): Promise<number> {
  const engine = new Engine([], {
    pathResolver: (value: object, path: string) =>
      path
        .slice(2)
        .split('.')
        .reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], value),
  });
  engine.addOperator('below', (a: number, b: number) => a < b);
  engine.addOperator('atLeast', (a: number, b: number) => a >= b);
  engine.addOperator('someFail', (list: { Value: string }[], value: string) =>
    list.some((item) => item.Value === value),
  );
  CONDITIONS.forEach(({ when }, index) => {
    const condition = engineCondition(JSON.parse(when));
    const conditions = 'all' in condition || 'any' in condition ? condition : { all: [condition] };
    engine.addRule({ conditions: conditions as never, event: { type: `rule-${index}` } });
  });
  let matches = 0;
  for (const device of devices) matches += (await engine.run({ device })).events.length;
  return matches;
}

interface Contender {
  name: string;
  /** What it does for the time it takes: not all do as much. */
  does: string;
  /** Over the part of the devices given by `share`; answers how often some rule matched. */
  run: () => number | Promise<number>;
  share: number;
  matches: number;
  slow: boolean;
  /** By round, scaled to all devices; nothing for a round that it took no part in. */
  tookMs: (number | undefined)[];
}

const PREDICATES = 'whether each condition holds; no unknown, no facts, no counts';
const VERDICTS =
  'three-valued verdicts, tallies, the facts of every match, each value of each fact counted for the trust gate';
/** json-rules-engine would take minutes over all of them. */
const PART = 1 / 20;

/** What a pass takes, in ms of processor time of all threads: what else the machine does counts little. */
async function timed(run: Contender['run']): Promise<[matches: number, ms: number]> {
  const before = process.cpuUsage();
  const matches = await run();
  const { user, system } = process.cpuUsage(before);
  return [matches, (user + system) / 1_000];
}

/** All contenders, round after round: what disturbs the machine disturbs all. The first rounds are for warming up. */
async function race(contenders: readonly Contender[]): Promise<void> {
  for (let round = -2; round < ROUNDS; round++) {
    for (const contender of contenders) {
      if (contender.slow && round % SLOW_EVERY !== 0) continue;
      globalThis.gc?.();
      await setTimeout(PAUSE_MS);
      if (!contender.slow) await contender.run();
      const [matches, ms] = await timed(contender.run);
      contender.matches = matches;
      if (round >= 0) contender.tookMs[round] = ms / contender.share;
    }
  }
}

/** The middle one of some numbers, and the ones a quarter from either end. */
function quartiles(values: readonly number[]): [low: number, middle: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] as number;
  return [at(0.25), at(0.5), at(0.75)];
}

/** Ratios are taken within each round, between neighbours in time. */
function ratios(contender: Contender, ours: Contender): [low: number, middle: number, high: number] {
  return quartiles(
    contender.tookMs.flatMap((ms, round) => (ms === undefined ? [] : ms / (ours.tookMs[round] as number))),
  );
}

function row(contender: Contender, ours: Contender): string {
  const [low, middle, high] = ratios(contender, ours);
  const us = (quartiles(contender.tookMs.filter((ms) => ms !== undefined))[1] * 1_000) / DEVICES;
  const ratio = contender === ours ? '1' : `${middle.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  return `| ${contender.name} | ${us.toFixed(2)} | ${ratio} | ${contender.does} |`;
}

/** What else the machine was doing: how much ran in the last minute, on average. */
const load = (): string => (loadavg()[0] as number).toFixed(1);

async function main(): Promise<void> {
  const devices = fleet(DEVICES);
  const part = devices.slice(0, DEVICES * PART);
  const logics = CONDITIONS.map(({ when }) => JSON.parse(when) as RulesLogic);
  const engine = new LogicEngine();
  const fifty = judging(CONDITIONS.map(({ when }, index) => ruleOf(`rule-${index}`, when)));
  // 1,000 rules that share predicates: pairs of the fifty.
  const thousand = judging(Array.from({ length: 1_000 }, (_, index) => ruleOf(`rule-${index}`, pairOf(index))));
  const byHand = handWritten();
  const interpreted = asking(logics.map((logic) => (device) => jsonLogic.apply(logic, device)));
  const compiled = asking(logics.map((logic) => engine.build(logic) as (device: BenchDevice) => unknown));
  const contender = (name: string, does: string, run: Contender['run'], share = 1): Contender => {
    return { name, does, run, share, matches: 0, slow: false, tookMs: [] };
  };

  const ours = contender('trustward', VERDICTS, () => fifty(devices));
  const hand = contender('hand-written predicates', PREDICATES, () => byHand(devices));
  const peer = contender('json-logic-engine, compiled', PREDICATES, () => compiled(devices));
  const oracle = { ...contender('json-logic-js', PREDICATES, () => interpreted(devices)), slow: true };
  const events = {
    ...contender('json-rules-engine', 'an event for each match', () => rulesEngine(part), PART),
    slow: true,
  };
  const many = contender('trustward, 1,000 rules that share predicates', VERDICTS, () => thousand(devices));
  const all = [hand, peer, ours, many, oracle, ...(isShort ? [] : [events])];
  const loadAtStart = load();
  await race(all);

  for (const { name, matches } of [hand, peer, oracle]) {
    if (matches !== ours.matches) throw new Error(`${name} finds ${matches} matches, trustward ${ours.matches}`);
  }
  if (!isShort && events.matches !== byHand(part))
    throw new Error(`${events.name} finds ${events.matches} matches of ${byHand(part)}`);
  const lines = [
    `${DEVICES} devices, ${CONDITIONS.length} rules, ${ours.matches} matches, ${ROUNDS} rounds by turns, Node ${process.version}, load ${loadAtStart} to ${load()}`,
    '',
    '| engine | µs a device | ratio to trustward: median (quartiles) | what it does |',
    '|---|---|---|---|',
    ...all.map((each) => row(each, ours)),
  ];
  process.stdout.write(`${lines.join('\n')}\n\n`);
  const figure = (what: string, contender: Contender, goal: { atMost?: number; atLeast?: number }): void =>
    report({ bench: 'rules', what, value: ratios(contender, ours)[1], unit: '×', ...goal });
  figure('json-logic-engine compiled ÷ trustward', peer, { atLeast: 1 });
  figure('hand-written predicates ÷ trustward', hand, { atLeast: 0.4 });
  figure('json-logic-js ÷ trustward', oracle, { atLeast: 10 });
  figure('1,000 rules that share predicates ÷ 50 rules', many, { atMost: 8 });
}

function pairOf(index: number): string {
  const first = CONDITIONS[index % CONDITIONS.length]?.when;
  const second = CONDITIONS[(index * 7 + Math.floor(index / CONDITIONS.length)) % CONDITIONS.length]?.when;
  return `{"and":[${first},${second}]}`;
}

await main();
