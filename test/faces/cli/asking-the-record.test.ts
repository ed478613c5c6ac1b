// commands: `decisions` and `audit list`: what they are asked for, what is not known, and the history of one target.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import {
  addLiveRun,
  addRun,
  decision,
  deviceSeen,
  fakeClock,
  openStore,
  START_MS,
} from '../../support/filled-store.ts';
import { command } from '../../support/in-process.ts';

const HOUR_MS = 3_600_000;
const AFTER_AN_HOUR = new Date(START_MS + HOUR_MS).toISOString();
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-asked-'));
  const clock = fakeClock();
  const store = openStore(clock, join(dir, 'trustward.db'));
  await addLiveRun(store);
  await store.appendAudit([{ kind: 'notice', body: { target: 'SERIAL-1' } }]);
  clock.advance(2 * HOUR_MS);
  await addRun(store, {
    id: 'run2',
    startedAt: clock.nowMs(),
    decisions: [
      decision({ id: 'd2', subject: { kind: 'device', id: 'device-2' }, target: 'SERIAL-2', decision: 'hold' }),
      decision({ id: 'd3', subject: { kind: 'user', id: 'Bo@x.org' }, target: 'bo', action: 'delete_device' }),
    ],
    identities: [
      {
        kind: 'device',
        changed: [deviceSeen('device-1', { owners: ['ada@x.org'] }), deviceSeen('device-2', { owners: ['bo@x.org'] })],
        had: undefined,
        readAt: 1,
      },
      { kind: 'user', changed: [{ ...deviceSeen('Bo@x.org'), kind: 'user' }], had: undefined, readAt: 1 },
    ],
  });
  const engine = { store, clock, checkpointer: undefined };
  await stopEverything(engine, { by: 'ana (token admin)', reason: 'one' });
  await stopEverything(engine, { by: 'ana (command line)', reason: 'two' });
  await stopEverything(engine, { by: 'anabel', reason: 'three' });
  await store.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ask = (...args: string[]) => command(args, { TRUSTWARD_DB: join(dir, 'trustward.db') });
const asked = async (...args: string[]) => JSON.parse((await ask(...args, '--format', 'json')).out);

describe('`decisions`', () => {
  it.each([
    [['--action', 'delete_device'], ['d3']],
    [['--decision', 'hold'], ['d2']],
    [
      ['--since', AFTER_AN_HOUR],
      ['d3', 'd2'],
    ],
    [['--since', AFTER_AN_HOUR, '--decision', 'act'], ['d3']],
    [['--since', '2026-11-23'], []],
    [['--owner', 'ADA@x.org'], ['decision1']],
    [
      ['--owner', 'bo@x.org'],
      ['d3', 'd2'],
    ],
    [[], ['d3', 'd2', 'decision1']],
  ])('%j lists %j, newest first', async (filters, ids) => {
    const { decisions } = await asked('decisions', ...filters);
    expect(decisions.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  it('of a rule or an owner that nothing knows fails, and says so', async () => {
    const rule = await ask('decisions', '--rule', 'ban-compromized');
    expect(rule).toMatchObject({ code: 1, out: '' });
    expect(rule.err).toBe('trustward: there is no rule `ban-compromized`: the last run had ban-compromised-device\n');
    const owner = await ask('decisions', '--owner', 'eve@x.org');
    expect(owner).toMatchObject({ code: 1, out: '' });
    expect(owner.err).toContain('nobody is known as `eve@x.org`: no trusted snapshot has shown');
    expect((await ask('decisions', '--rule', 'ban-compromised-device', '--since', '2026-11-23')).out).toBe(
      'no decisions\n',
    );
  });

  it('of one target adds its history, as `history` and under History', async () => {
    const { history } = await asked('decisions', '--target', 'SERIAL-1');
    expect(history.map(({ kind, run }: { kind: string; run: number }) => [kind, run])).toEqual([
      ['decision', 1],
      ['call', 1],
    ]);
    const { out } = await ask('decisions', '--target', 'SERIAL-1');
    expect(out).toMatch(/\nHistory\n\nWhen /);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('ban_device SERIAL-1: succeeded');
    expect(await asked('decisions')).not.toHaveProperty('history');
  });

  it.each(['yesterday', '-1h', '2026-13-01'])('refuses --since %s', async (since) => {
    expect(await ask('decisions', `--since=${since}`)).toMatchObject({ code: 2, out: '' });
  });
});

describe('`audit list`', () => {
  it.each([
    [
      ['--actor', 'ana'],
      ['two', 'one'],
    ],
    [['--actor', 'ana (token admin)'], ['one']],
    [['--actor', 'anabel'], ['three']],
    [['--kind', 'stop.set', '--since', AFTER_AN_HOUR, '--limit', '1'], ['three']],
    [['--actor', 'an'], []],
  ])('%j lists what was recorded with the reasons %j', async (filters, reasons) => {
    const { entries } = await asked('audit', 'list', ...filters);
    expect(entries.map(({ body }: { body: { reason: string } }) => body.reason)).toEqual(reasons);
  });

  it('lists the entries about one target, and those since a time', async () => {
    const about = await asked('audit', 'list', '--target', 'SERIAL-1');
    expect(about.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['notice']);
    const { entries } = await asked('audit', 'list', '--since', AFTER_AN_HOUR);
    expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual([
      'stop.set',
      'stop.set',
      'stop.set',
      'decision.made',
      'decision.made',
      'run.started',
    ]);
  });

  it('of a kind that there is not fails, and names those that there are, the nearest first', async () => {
    const typo = await ask('audit', 'list', '--kind', 'intent.send');
    expect(typo).toMatchObject({ code: 2, out: '' });
    expect(typo.err).toContain(
      '--kind is `intent.send`: did you mean `intent.sent`? It must be one of `intent.sent`, `database.bound`, ',
    );
    expect((await ask('audit', 'list', '--kind', 'exemption')).err).toContain(
      '--kind must be one of `exemption.added`, `exemption.covered`, `exemption.confirmed`, `exemption.ended`, `exemption.ending`, ',
    );
  });
});
