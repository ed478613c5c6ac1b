// commands: `rules evidence`: what it shows and answers without a history, and over segments as the recorder writes them.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FactChange } from '../../../src/domain/look-back.ts';
import { eachOf, RunEncoder } from '../../../src/history/codec/run-encoder.ts';
import { HistoryWriter } from '../../../src/history/files/tidy.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { command } from '../../support/in-process.ts';
import { DAY, HOUR, MINUTE, Recording } from '../../support/recorded.ts';

let dir: string;
let rules: string;
let db: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-evidence-'));
  db = join(dir, 'trustward.db');
  rules = join(dir, 'rules');
  mkdirSync(rules);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const COVERED = `
  - { name: compromised, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }
  - { name: not, given: { MdmData: { CompromisedStatus: "FALSE" } }, expect: no_match }
  - { name: not known, given: { MdmData: { CompromisedStatus: null } }, expect: unknown }`;

function rule(mode: string, tests = COVERED): void {
  const when = '{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }';
  writeFileSync(
    join(rules, 'ban.yaml'),
    `id: ban\ntitle: Ban\nseverity: high\nsubject: device\nwhen: ${when}\nthen: ban_device\nmode: ${mode}\ntests:${tests}\n`,
  );
}

const ask = (...more: string[]) => command(['rules', 'evidence', '--rules', rules, '--db', db, ...more], {});

/** A run every six hours, in which one of three devices is compromised after a day. */
async function recorded(days: number): Promise<void> {
  const recording = new Recording();
  recording.nowMs = systemClock.nowMs() - days * DAY - HOUR;
  recording.devices(3, () => ({ MdmData: { CompromisedStatus: 'FALSE' } }));
  for (let number = 0; number <= days * 4; number += 1) {
    if (number === 4) recording.now('device', 'd2', { MdmData: { CompromisedStatus: 'TRUE' } });
    recording.run().pass(6 * HOUR - 5 * MINUTE);
  }
  const encoder = new RunEncoder();
  const writer = new HistoryWriter(`${db}.history`, { program: 'test', address: 'test' });
  let before: FactChange[] = [];
  for (const item of recording.items) {
    if (item.kind === 'state') for await (const batch of item.facts) before = [...batch];
    if (item.kind !== 'run') continue;
    const { run } = item;
    const shows = () => run.frame.shows;
    const changes = eachOf([...before, ...run.changes]);
    writer.writeAdded(({ add }) => encoder.encode({ ...run, changes, shows }, add));
    before = [];
  }
}

it('without a history only tests count for --require, and the answer says what is missing', async () => {
  rule('enforce');
  const { code, out } = await ask('--require');
  expect(code).toBe(0);
  expect(out).toContain('enforce: needs 14 days of history, 0 so far');
  expect(out).toContain('only tests count here');
  rule('enforce', '\n  - { name: one, given: {}, expect: no_match }');
  expect(await ask('--require')).toMatchObject({ code: 1 });
  expect(await ask()).toMatchObject({ code: 0 });
  rule('dry-run', '\n  - { name: one, given: {}, expect: no_match }');
  expect(await ask('--require')).toMatchObject({ code: 0 });
});

it('says of a rule that warns first, and begins with a share, that it does', async () => {
  rule('dry-run\nnotice: { before: 24h, remind: [4h, 30m] }\nrollout: { steps: [1%, 100%], each: 24h }');
  const notice =
    'owners are warned first, and it acts 1d after the delivery; they are reminded 4h, 30m before that; where somebody cannot be warned, a person is asked';
  const { out } = await ask();
  expect(out.replace(/\s+/g, ' ')).toContain(`notice: ${notice} rollout: it acts on 1 %, then 100 % of its subjects`);
  expect((await ask('--format', 'md')).out).toContain(`${notice}; it acts on`);
  expect(JSON.parse((await ask('--format', 'json')).out).rules).toMatchObject([{ notice }]);
});

it('over recorded days it has what the rule would have done, and keeps that for every mode of the rule', async () => {
  rule('dry-run');
  await recorded(15);
  const { code, out, err } = await ask('--format', 'json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const [found] = JSON.parse(out).rules;
  expect(found).toMatchObject({ id: 'ban', earned: 'enforce', missing: { approve: [], enforce: [] } });
  expect(found.replayed).toMatchObject({ days: 15, gaps: 0, matches: 1, acts: 1, mostInRun: 1, flaps: 0, unknown: 0 });
  expect(readdirSync(join(`${db}.history`, 'evidence'))).toHaveLength(1);
  rule('enforce');
  const listed = await command(['rules', 'list', '--rules', rules, '--format', 'json'], { TRUSTWARD_DB: db });
  expect(JSON.parse(listed.out)[0].evidence.text).toMatch(
    /^evidence of \S+ \S+ UTC: 15 days, 1 match, at most 1 done in a run, 0 undone within the hour; enforce is earned$/,
  );
  expect(await ask('--require')).toMatchObject({ code: 0 });
});

it('a mode that recorded time does not earn yet fails --require where there is a history', async () => {
  rule('enforce');
  await recorded(9);
  const { code, out } = await ask('--require', '--format', 'md');
  expect(code).toBe(1);
  expect(out).toContain('enforce: needs 14 days of history, 9 so far');
});

it('an unknown rule and a time ahead are mistakes of the command line', async () => {
  rule('dry-run');
  expect(await ask('bann')).toMatchObject({ err: expect.stringContaining('did you mean `ban`?') });
  expect(await ask('--since', 'soon')).toMatchObject({ code: 2 });
});
