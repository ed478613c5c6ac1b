// bench: 1,000 bans at 50 ms a request, eight at once: the time from the first to the last, against the ideal of three requests a ban (read,
// write, read back). A console of its own process that answers 50 ms late; the engine with its database on disk in this one. With `--short`:
// 150 bans. Wall time, since the latency is most of it: run it with nothing else running.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Facts } from '../src/domain/facts.ts';
import { runCycle } from '../src/engine/cycle.ts';
import { composeEngine } from '../src/runtime/compose/compose.ts';
import { readConfig } from '../src/runtime/config/config.ts';
import { BAN_RULE } from './contain/ban-rule.ts';
import type { Compromise, Seen } from './contain/console.ts';
import { isShort, report } from './figures.ts';

const LATENCY_MS = 50;
const CONCURRENCY = 8;
const REQUESTS = 3;
const bans = isShort ? 150 : 1_000;
/** By the client alone, in the same run: how near the ideal this machine comes at this moment. */
const bare = 120;

const dir = mkdtempSync(join(tmpdir(), 'trustward-act-'));
const file = new URL('./contain/console.ts', import.meta.url).pathname;
const platform: ChildProcess = spawn(process.execPath, ['--import', 'tsx', file, '500', String(LATENCY_MS)], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
});
const [line] = (await once(createInterface({ input: platform.stdout as NodeJS.ReadableStream }), 'line')) as [string];
const [, url, key] = line.split(' ') as [string, string, string];
async function seen(): Promise<Seen> {
  platform.send('seen');
  const [answer] = (await once(platform, 'message')) as [Seen];
  return answer;
}

mkdirSync(join(dir, 'rules'));
writeFileSync(join(dir, 'rules', 'ban.json'), JSON.stringify(BAN_RULE));
const { engine, close } = await composeEngine(
  readConfig({
    TRUSTWARD_API_URL: url,
    TRUSTWARD_API_KEY: key,
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    TRUSTWARD_RULES: join(dir, 'rules'),
    TRUSTWARD_MODE: 'enforce',
    TRUSTWARD_ACT_CONCURRENCY: String(CONCURRENCY),
    TRUSTWARD_CEILING_RUN: '2000,100%',
    TRUSTWARD_CEILING_DAY: '2000,100%',
    TRUSTWARD_TRUST_MOVED_POINTS: '100',
    TRUSTWARD_LOG_LEVEL: 'silent',
  }),
);

/** At the first action, and when the last one has its outcome. */
const marks: { ms: number; cpu: NodeJS.CpuUsage; commits: number }[] = [];
let commits = 0;
engine.store.onAudited(() => {
  commits += 1;
});
const mark = () => marks.push({ ms: performance.now(), cpu: process.cpuUsage(marks[0]?.cpu), commits });
engine.progress = ({ phase }) => {
  if (phase === 'acting' ? marks.length === 0 : phase === 'settling doubts' && marks.length === 1) mark();
};
/** The same three requests, eight devices at once, without an engine; ms a device. */
async function bareMs(serials: string[]): Promise<number> {
  const from = performance.now();
  const worker = async () => {
    for (let serial = serials.pop(); serial !== undefined; serial = serials.pop()) {
      const [device] = await engine.api.devicesOfSerial(serial);
      const { Model, Ownership, Platform, Architecture } = device as Facts;
      await engine.api.updateDevices(serial, [{ Model, Ownership, Platform, Architecture, Banned: 'TRUE' } as Facts]);
      await engine.api.devicesOfSerial(serial);
    }
  };
  const { length } = serials;
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return (performance.now() - from) / length;
}

/** Of devices that are not compromised. */
async function otherSerials(): Promise<string[]> {
  const serials = new Set<string>();
  for await (const { records } of engine.api.pages('devices'))
    for (const record of records as Facts[])
      if ((record.MdmData as Facts | null)?.CompromisedStatus !== 'TRUE') serials.add(String(record.SerialNumber));
  return [...serials].filter((serial) => serial.trim() !== '');
}

const run = () => runCycle(engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: false });

try {
  await run();
  marks.length = 0;
  platform.send({ count: bans, withinMs: 0 } satisfies Compromise);
  const others = await otherSerials();
  const bareBefore = await bareMs(others.splice(0, bare));
  const before = (await seen()).requests.length;
  await run();
  const { bannedAt, compromisedAt, requests } = await seen();
  const bareAfter = await bareMs(others.splice(0, bare));
  const done = Object.keys(compromisedAt).filter((id) => id in bannedAt).length;
  if (done !== bans) throw new Error(`${done} of ${bans} devices are banned`);
  const [from, to] = marks as [(typeof marks)[0], (typeof marks)[0]];
  const asked = requests.slice(before).filter(({ path }) => /\/(devices|update_device)(\?|$)/.test(path)).length;
  const ideal = (bans * REQUESTS * LATENCY_MS) / CONCURRENCY;
  const bench = 'act';
  report({
    bench,
    what: `${bans} bans, ${CONCURRENCY} at once: time to the ideal`,
    value: (to.ms - from.ms) / ideal,
    unit: '×',
    atMost: 1.25,
  });
  const bareOfAll = ((bareBefore + bareAfter) / 2) * bans;
  report({
    bench,
    what: 'time to that of the same requests by the client alone',
    value: (to.ms - from.ms) / bareOfAll,
    unit: '×',
  });
  report({ bench, what: 'the ideal: three requests each', value: ideal / 1_000, unit: 's' });
  report({ bench, what: 'requests a ban, lists of the run included', value: asked / bans, unit: '' });
  report({ bench, what: 'commits a ban', value: (to.commits - from.commits) / bans, unit: '' });
  report({ bench, what: 'processor time a ban', value: (to.cpu.user + to.cpu.system) / 1_000 / bans, unit: 'ms' });
  process.stdout.write(`load ${loadavg()[0]?.toFixed(1)}\n`);
} finally {
  await close();
  platform.disconnect();
  rmSync(dir, { recursive: true, force: true });
}
