// test: a real engine with a history, replayed as it was: each decision is made again, after gaps and after looks too.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import type { HistoryItem, HistoryReader, RecordedRun } from '../../../src/domain/recorded-history.ts';
import type { Replay } from '../../../src/domain/replay.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { addExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { readGuards } from '../../../src/rules/load/guards-file.ts';
import { readLists } from '../../../src/rules/load/named-lists.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { seeded } from '../../rules/typed-grammar.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

const MINUTE = 60_000;

const HOUR = 60 * MINUTE;

function ruleOf(id: string, when: unknown, more: Facts = {}): LoadedRule {
  const file = { id, subject: 'device', when, then: 'ban_device', mode: 'enforce', ...more } as Facts;
  const parsed = parseRule(JSON.stringify({ limits: { max: 100, percent: 100 }, ...file }), `${id}.json`, {
    traits: ACTIONS,
    lists: readLists([['lists/models.yaml', 'entries: [M2]']]).lists,
  });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const RULES: LoadedRule[] = [
  banRule({ id: 'ban', cooldown: '10m' }),
  banRule({ id: 'ban-later', field: 'CompliantStatus', more: 'for: 20m\nclear_for: 10m' }),
  ruleOf('approve', { in: [{ var: 'Model' }, { var: '$lists.models' }] }, { mode: 'approve' }),
  ruleOf('loud', { '>=': [{ event_count: { within: '1h' } }, 3] }, { limits: { max: 2, percent: 100 } }),
  ruleOf('owned', { some: [{ var: '$owners' }, { '==': [{ var: 'Name' }, 'Eve'] }] }, { owners: 'all' }),
  ruleOf('old', { and: [compromised, { '>': [{ age: { var: 'MdmData.Timestamp' } }, '2h'] }] }, { mode: 'dry-run' }),
  ruleOf('delete', { '==': [{ var: 'Platform' }, 'BeOS'] }, { then: 'delete_device' }),
  ruleOf('user', { '==': [{ var: 'Name' }, 'Mallory'] }, { subject: 'user', then: 'delete_device' }),
  ruleOf(
    'their-devices',
    { '==': [{ var: 'Name' }, 'Eve'] },
    { subject: 'user', then: 'ban_devices', revert: true, owners: 'all' },
  ),
];

class Life {
  readonly on: OnPlatform;
  readonly history: MemoryHistory;
  private readonly random: () => number;
  private rules: LoadedRule[];

  constructor(seed: number) {
    this.random = seeded(seed);
    this.rules = [...RULES];
    this.on = startOnPlatform({
      rules: this.rules,
      settings: (settings) => ({ ...settings, trust: { ...settings.trust, shrunkPercent: 30, shrunkRecords: 2 } }),
    });
    this.history = new MemoryHistory(this.on.store);
    this.on.engine.history = this.history;
    for (let number = 1; number <= 10; number += 1)
      this.on.platform.addDevice(`d${number}`, {
        SerialNumber: `S-d${number % 8}`,
        Emails: [this.pick(['ann@x.org', 'bob@x.org', 'eve@x.org'])],
      });
    for (const name of ['ann', 'bob', 'eve']) this.user(`${name}@x.org`, 'Ann');
  }

  private pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.random() * all.length)] as T;
  }
  private chance(share: number): boolean {
    return this.random() < share;
  }

  private user(email: string, Name: string): void {
    const SerialNumbers = [...this.on.platform.devices.values()].flatMap((device) =>
      (device.Emails as string[]).includes(email) ? [device.SerialNumber as string] : [],
    );
    this.on.platform.users.set(email, { Email: email, Name, Groups: this.pick(['vip', 'all']), SerialNumbers });
  }

  private world(): void {
    const { platform, clock } = this.on;
    for (let count = 0; count < 3; count += 1) {
      const id = `d${1 + Math.floor(this.random() * 10)}`;
      if (!platform.devices.has(id)) continue;
      const mdm = () => this.pick(['TRUE', 'FALSE', 'FALSE']);
      const stamp = BigInt(clock.nowMs() - Math.floor(this.random() * 3) * HOUR) * 1_000_000n;
      if (this.chance(0.5))
        platform.patch(id, { MdmData: { CompromisedStatus: mdm(), CompliantStatus: mdm(), Timestamp: stamp } });
      if (this.chance(0.2)) platform.patch(id, { Model: this.pick(['M1', 'M2']) });
      if (this.chance(0.1)) platform.patch(id, { Platform: this.pick(['macOS', 'BeOS']) });
      if (this.chance(0.1)) platform.patch(id, { Banned: this.pick(['TRUE', 'FALSE']) });
      if (this.chance(0.1)) platform.patch(id, { Emails: [this.pick(['ann@x.org', 'eve@x.org'])] });
      if (this.chance(0.3)) for (let event = 0; event < 2; event += 1) addEvent(this.on, id);
      if (this.chance(0.2)) platform.answer(`S-${id}`, this.pick(['failed', 'lost', 'hidden', 'forbidden'] as const));
    }
    if (this.chance(0.2)) this.user(this.pick(['ann@x.org', 'eve@x.org']), this.pick(['Ann', 'Eve', 'Mallory']));
  }

  private async people(): Promise<void> {
    const { engine, store } = this.on;
    const why = { by: 'ana', reason: 'a test' };
    if (this.chance(0.1)) await ((await store.stop()) ? resumeEverything(engine, why) : stopEverything(engine, why));
    if (this.chance(0.1)) {
      const selector = this.pick([
        { field: 'SerialNumber', value: 'S-d1' },
        { field: 'Groups', value: 'vip' },
        { field: 'Email', value: 'ann@x.org' },
      ]);
      await addExemption(engine, { selector, owner: 'ana', reason: 'a test', until: this.pick(['1h', '5h']) }, 'ana');
    }
    const [plan] = await store.plans({ status: 'pending' }, 1);
    if (plan && this.chance(0.3)) {
      await this.on.approve(plan);
      if (!(await store.stop())) await this.on.apply(plan);
    }
  }

  private edit(): void {
    const extra = ruleOf(
      'edited',
      { '==': [{ var: 'Ownership' }, this.pick(['Other', 'Corporate Dedicated'])] },
      { mode: 'approve' },
    );
    this.rules = this.chance(0.5) ? RULES.filter(() => this.chance(0.8)) : [...RULES, extra];
    this.on.rules(...(this.rules.length > 0 ? this.rules : RULES));
  }

  async step(): Promise<void> {
    const { platform, clock, engine } = this.on;
    this.world();
    await this.people();
    if (this.chance(0.1)) this.edit();
    if (this.chance(0.1)) this.on.restart();
    const hidden = this.chance(0.1) ? [...platform.devices].slice(0, 5) : [];
    for (const [id] of hidden) platform.devices.delete(id);
    const mode = this.pick(['enforce', 'enforce', 'enforce', 'dry-run', 'approve'] as const);
    const chosen = this.chance(0.1)
      ? engine
          .active()
          .rules.slice(0, 2)
          .map(({ id }) => id)
      : undefined;
    await this.on.run(mode, chosen);
    for (const [id, record] of hidden) platform.devices.set(id, record);
    if (this.chance(0.4)) {
      clock.pass(MINUTE);
      this.world();
      await lookOn(this.on);
    }
    clock.pass(this.pick([MINUTE, 5 * MINUTE, 20 * MINUTE, 3 * HOUR]));
  }
}

async function replayed(reader: HistoryReader, more: { everyMs?: number; only?: string[] } = {}): Promise<Replay> {
  return asItWas(reader, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS, ...more });
}

/** The recorded runs, one of them changed. */
function readerOf(history: MemoryHistory, change: (run: RecordedRun) => HistoryItem[]): HistoryReader {
  return {
    items: (query) =>
      (async function* () {
        for await (const item of history.items(query)) {
          if (item.kind === 'run') yield* change(item.run);
          else yield item;
        }
      })(),
    span: () => history.span(),
    factsAt: (...asked) => history.factsAt(...asked),
    changesOf: (...asked) => history.changesOf(...asked),
    ruleSet: (hash) => history.ruleSet(hash),
  };
}

async function lived(seed: number, steps: number): Promise<Life> {
  const life = new Life(seed);
  for (let step = 0; step < steps; step += 1) await life.step();
  await life.history.settled();
  return life;
}

describe('a replay as it was', () => {
  it('gives the decisions that were made, one for one, whatever happened', async () => {
    let [runs, looks, decisions, banned] = [0, 0, 0, 0];
    for (let seed = 1; seed <= 5; seed += 1) {
      const { history, on } = await lived(seed, 25);
      const replay = await replayed(history);
      expect(replay.differences, `seed ${seed}`).toEqual([]);
      expect(replay.runs).toBe(history.runs.length);
      runs += replay.runs;
      looks += replay.runs - replay.wholeRuns;
      decisions += history.runs.reduce((sum, { written, ended }) => sum + written.length + ended.length, 0);
      const intents = await on.store.intents({});
      banned += intents.filter(
        ({ basis, outcome }) => outcome === 'succeeded' && basis[0]?.rule === 'their-devices',
      ).length;
      await on.close();
    }
    expect(banned).toBeGreaterThan(2);
    expect(runs).toBeGreaterThan(120);
    expect(looks).toBeGreaterThan(4);
    expect(decisions).toBeGreaterThan(400);
  }, 120_000);

  it('begins anywhere, and decides some runs alone if that is asked for', async () => {
    const { history, on } = await lived(3, 20);
    const middle = history.runs[10]?.frame.run.startedAt as number;
    const late = await asItWas(history, { fromMs: middle, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
    expect(late.differences).toEqual([]);
    expect(late.runs).toBe(history.runs.length - 10);
    expect((await replayed(history, { everyMs: 6 * HOUR })).differences).toEqual([]);
    await on.close();
  }, 300_000);

  it('finds a change that the record lost, and says that nothing explains it', async () => {
    const { history, on } = await lived(5, 25);
    const first = history.runs.findIndex(
      ({ written }, at) => at > 0 && written.some(({ decision }) => decision === 'act'),
    );
    const acted = history.runs[first] as RecordedRun;
    const { subject } = acted.written.find(({ decision }) => decision === 'act') as (typeof acted.written)[number];
    const without = readerOf(history, (run) => [
      {
        kind: 'run',
        run: run === acted ? { ...run, changes: [...run.changes].filter((one) => one.subject !== subject.id) } : run,
      },
    ]);
    const { differences } = await replayed(without);
    expect(differences[0]).toMatchObject({ runSeq: acted.frame.run.seq, isExplained: false });
    await on.close();
  }, 300_000);

  it('names a damaged stretch as the reason of what it cannot give', async () => {
    const { history, on } = await lived(5, 25);
    const at = history.runs.findIndex(({ changes }, index) => index > 3 && [...changes].length > 3);
    const lost = history.runs[at] as RecordedRun;
    const { startedAt } = lost.frame.run;
    const gap = { fromMs: startedAt, toMs: startedAt + 1, cause: 'damaged', text: 'a segment is damaged' } as const;
    const { differences, gaps } = await replayed(
      readerOf(history, (run) => (run === lost ? [{ kind: 'gap', gap }] : [{ kind: 'run', run }])),
    );
    expect(gaps).toEqual([gap]);
    expect(differences.length).toBeGreaterThan(0);
    for (const { isExplained, reason } of differences) expect([isExplained, reason]).toEqual([true, gap.text]);
    await on.close();
  }, 300_000);

  it('counts what was done from the outcomes that were recorded, and reports chosen rules alone', async () => {
    const on = startOnPlatform({ rules: [banRule(), banRule({ id: 'other', field: 'Other' })] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    for (let number = 1; number <= 4; number += 1) on.platform.addDevice(`d${number}`);
    await on.run();
    on.platform.compromised('d1', 'TRUE');
    on.platform.compromised('d2', 'TRUE');
    on.platform.answer('S-d2', 'failed');
    on.platform.patch('d3', { MdmData: { Other: 'TRUE' } });
    on.clock.pass(5 * MINUTE);
    await on.run();
    on.platform.compromised('d1', 'FALSE');
    on.platform.compromised('d2', 'FALSE');
    on.clock.pass(10 * MINUTE);
    await on.run();
    on.clock.pass(10 * MINUTE);
    await on.run();
    const all = await replayed(history);
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d3', 'unban S-d1']);
    expect(all.acts.map(({ action, target, undo }) => [action, target, undo])).toEqual([
      ['ban_device', 'S-d1', false],
      ['ban_device', 'S-d3', false],
      ['unban_device', 'S-d1', true],
    ]);
    expect(all.rules.map(({ id, acts, undos, flaps, matches }) => [id, acts, undos, flaps, matches])).toEqual([
      ['ban', 1, 1, 1, 2],
      ['other', 1, 0, 0, 1],
    ]);
    expect((await replayed(history, { only: ['other'] })).rules.map(({ id }) => id)).toEqual(['other']);
    await on.close();
  });

  it('knows the devices of a serial number as a look found them, also one that took the place of another', async () => {
    const on = startOnPlatform({
      rules: [banRule()],
      settings: (settings) => ({ ...settings, decide: { ...settings.decide, serialDevicesMax: 1 } }),
    });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    for (let number = 1; number <= 4; number += 1) on.platform.addDevice(`d${number}`);
    await on.run();
    on.clock.pass(MINUTE);
    on.platform.devices.delete('d1');
    on.platform.addDevice('d9', { SerialNumber: 'S-d1' });
    on.platform.compromised('d9', 'TRUE');
    addEvent(on, 'd9', { user_principal: { device: { id: 'd9', serial_number: 'S-d1' } } });
    expect(await lookOn(on)).toMatchObject({ result: 'acted' });
    expect((await replayed(history)).differences).toEqual([]);
    await on.close();
  });

  it('ends at once when it is stopped', async () => {
    const { history, on } = await lived(1, 3);
    const signal = AbortSignal.abort();
    const asked = asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS, signal });
    await expect(asked).rejects.toMatchObject({ code: 'stopped' });
    await on.close();
  });
});

it('the replay of a rule that warns first waits as it did, and what if takes its notices as delivered at once', async () => {
  const rule = banRule({ more: 'notice: { before: 24h }' });
  const on = startOnPlatform({ rules: [rule] });
  const history = new MemoryHistory(on.store);
  on.engine.history = history;
  on.platform.addDevice('d1', { Emails: ['ana@x.org'], MdmData: { CompromisedStatus: 'TRUE' } });
  const box = on.store.noticeBox();
  for (const passMs of [2 * HOUR, 20 * HOUR, 5 * HOUR, HOUR]) {
    await on.run();
    const [claimed] = await box.claim(on.clock.now, on.clock.now + MINUTE, 1);
    if (claimed) await box.end(claimed, { how: 'delivered' }, 0, () => 'none');
    on.clock.pass(passMs);
  }
  await on.run();
  expect(on.platform.sent).toEqual(['ban S-d1']);
  const reasons = ({ written }: RecordedRun) => written.map(({ reason }) => reason);
  expect(history.runs.map(reasons)).toEqual([['notice'], ['notice'], [], ['rule_matches'], ['already_so']]);
  const asItWas = await replayed(history);
  expect(asItWas.differences).toEqual([]);
  const notice = { warned: 1, mended: 0, acted: 1, avoided: undefined, undelivered: 0 };
  expect(asItWas.rules.map((one) => one.notice)).toEqual([notice]);
  const others = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, actions: ACTIONS };
  const { acts } = await whatIf(history, [banRule({ more: 'notice: { before: 23h }' })], others);
  const begun = history.runs[0]?.frame.run.startedAt as number;
  expect(acts.map(({ target, atMs }) => [target, atMs - begun])).toEqual([['S-d1', 27 * HOUR]]);
  await on.close();
});

it('the replay of a set with guards holds what they held', async () => {
  const text = 'ask: [{ Groups: Board }]\nlast_device: ask\ndevices_of_a_person: { per_day: 2 }\n';
  const { guards } = readGuards([['guards.yaml', text]], []);
  const on = startOnPlatform({ rules: [{ ...banRule({ more: 'owners: all' }), guards }] });
  const history = new MemoryHistory(on.store);
  on.engine.history = history;
  const owned = { 'bob@x.org': ['b1', 'b2'], 'ann@x.org': ['a1'], 'eve@x.org': ['e1', 'e2', 'e3', 'e4'] };
  for (const [email, ids] of Object.entries(owned)) {
    const groups = email === 'bob@x.org' ? 'staff,Board' : 'staff';
    const serials = ids.map((id) => `S-${id}`);
    on.platform.users.set(email, { Email: email, Name: email, Groups: groups, SerialNumbers: serials });
    for (const id of ids) on.platform.addDevice(id, { Emails: [email] });
  }
  await on.run();
  for (const id of ['b1', 'a1', 'e1', 'e2', 'e3']) on.platform.compromised(id, 'TRUE');
  for (const hours of [1, 25, 1]) {
    await on.run();
    on.clock.pass(hours * HOUR);
  }
  const reasons = history.runs.map(({ written }) =>
    written.map(({ subject, reason }) => `${subject.id} ${reason}`).sort(),
  );
  expect(reasons[1]).toEqual(
    ['a1 last_device', 'b1 guarded', 'e1 rule_matches', 'e2 rule_matches', 'e3 devices_of_a_day'].sort(),
  );
  expect(on.platform.sent.sort()).toEqual(['ban S-e1', 'ban S-e2', 'ban S-e3']);
  on.platform.compromised('e4', 'TRUE');
  addEvent(on, 'e4');
  await lookOn(on);
  expect(history.runs.at(-1)?.written.map(({ subject, reason }) => `${subject.id} ${reason}`)).toEqual([
    'e4 last_device',
  ]);
  expect((await replayed(history)).differences).toEqual([]);
  await on.close();
});

describe('what changed in a gap', () => {
  const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  const RULE = banRule();
  const compromised = (is: boolean) => ({ MdmData: { CompromisedStatus: is ? 'TRUE' : 'FALSE' } });

  /** Trustward bans three devices. Then it unbans the first one, and a person the second: in runs that are recorded or not. At last a person unbans the third. */
  async function recorded({ lost }: { lost: boolean }): Promise<HistoryReader> {
    const on = startOnPlatform({ rules: [RULE] });
    const history = new MemoryHistory(on.store);
    const run = async (isRecorded = true) => {
      on.engine.history = isRecorded ? history : undefined;
      await on.run();
      await history.settled();
      on.clock.pass(5 * MINUTE);
    };
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, compromised(false));
    await run();
    for (const id of ['d1', 'd2', 'd3']) on.platform.patch(id, compromised(true));
    await run();
    await run();
    on.platform.patch('d1', compromised(false));
    on.platform.patch('d2', { Banned: 'FALSE' });
    await run(!lost);
    await run(!lost);
    await run(!lost);
    await run();
    on.platform.patch('d3', { Banned: 'FALSE' });
    await run();
    await on.close();
    return withGaps(history);
  }

  /** As the files give it. */
  function withGaps(history: MemoryHistory): HistoryReader {
    return {
      span: () => history.span(),
      factsAt: (subject, atMs) => history.factsAt(subject, atMs),
      changesOf: (subject, fromMs, toMs) => history.changesOf(subject, fromMs, toMs),
      ruleSet: (hash) => history.ruleSet(hash),
      async *items(query): AsyncIterable<HistoryItem> {
        let before: { seq: number; startedAt: number } | undefined;
        for await (const item of history.items(query)) {
          if (item.kind === 'run') {
            const { seq, startedAt } = item.run.frame.run;
            if (before && seq > before.seq + 1)
              yield {
                kind: 'gap',
                gap: { fromMs: before.startedAt, toMs: startedAt, cause: 'not_recorded', text: 'some runs' },
              };
            before = { seq, startedAt };
          }
          yield item;
        }
      },
    };
  }

  const bansOf = ({ acts }: Awaited<ReturnType<typeof asItWas>>) =>
    acts
      .filter(({ undo }) => !undo)
      .map(({ target, isOver, personUndidAtMs }) => [target, isOver, personUndidAtMs !== undefined]);

  it.each([
    ['as it was', (reader: HistoryReader) => asItWas(reader, { ...ALWAYS, traits: ACTIONS })],
    [
      'what if',
      (reader: HistoryReader) => whatIf(reader, [{ ...RULE, revert: false }], { ...ALWAYS, actions: ACTIONS }),
    ],
  ])('what changed in a gap is no act of a person, and what changed after it is: %s', async (way, replay) => {
    const bySelf = way === 'as it was';
    expect(bansOf(await replay(await recorded({ lost: false })))).toEqual([
      ['S-d1', bySelf, false],
      ['S-d2', true, true],
      ['S-d3', true, true],
    ]);
    expect(bansOf(await replay(await recorded({ lost: true })))).toEqual([
      ['S-d1', true, false],
      ['S-d2', true, false],
      ['S-d3', true, true],
    ]);
  });
});

describe('what looks and runs read beside their subjects, live and then replayed as it was', () => {
  const HOUR = 3_600_000;
  const ANN = 'ann@x.org';

  let on: OnPlatform;
  let history: MemoryHistory;
  beforeEach(() => {
    on = startOnPlatform();
    history = new MemoryHistory(on.store);
    on.engine.history = history;
    on.engine.lookBack = recordedLookBack(history, () => history.settled());
    addEvent(on, 'nobody', { created_at: on.clock.now - HOUR });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { SerialNumber: 'S-d1', Emails: [ANN], Model: 'm1' });
    user({ Name: 'Ann' });
  });
  afterEach(() => on.close());

  function ruleOf(id: string, subject: 'device' | 'user', when: string): LoadedRule {
    const text = `{ id: ${id}, subject: ${subject}, when: ${when}, then: notify, mode: enforce, watch: true, limits: { max: 9, percent: 100 }, tests: [{ name: any, expect: unknown }] }`;
    const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const many = ruleOf('many', 'user', '{ some: [{ var: $devices }, { "==": [{ var: Model }, m1] }] }');
  const owned = ruleOf('owned', 'device', '{ some: [{ var: $owners }, { "==": [{ var: Name }, Eve] }] }');
  const moved = ruleOf('moved', 'user', '{ changed_within: [Name, 2d] }');
  const renamed = ruleOf('renamed', 'user', '{ "==": [{ var: Name }, "Ann B"] }');
  const remodelled = ruleOf('remodelled', 'device', '{ "==": [{ var: Model }, m2] }');
  const changed = ruleOf('changed', 'device', '{ changed_within: [Model, 2d] }');

  function user(more: Facts): void {
    on.platform.users.set(ANN, {
      Email: ANN,
      Groups: 'all',
      SerialNumbers: ['S-d1'],
      ...on.platform.users.get(ANN),
      ...more,
    });
  }

  async function run(hours: number): Promise<void> {
    on.clock.pass(hours * HOUR);
    await on.run();
  }

  async function look(event: Facts): Promise<void> {
    on.clock.pass(HOUR);
    addEvent(on, 'nobody', event);
    expect((await lookOn(on, { mayStartWhole: false })).result).toBe('acted');
  }

  const ofAnn = { type: 'user', user_principal: { user: { email: ANN } } };

  const decided = (rule: string) => history.runs.map(({ written }) => written.find((one) => one.rule === rule)?.facts);

  async function differences() {
    const replay = await asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
    expect(replay.runs).toBe(history.runs.length);
    return replay.differences;
  }

  it('a device that was gone when a look read the devices of a user is not there for its replay', async () => {
    on.rules(many);
    await run(1);
    on.platform.devices.delete('d2');
    user({ Name: 'Ann B' });
    await look(ofAnn);
    await run(1);
    expect(decided('many').slice(0, 2)).toEqual([{ $devices: ['S-d1', 'S-d1'] }, { $devices: ['S-d1'] }]);
    expect(await differences()).toEqual([]);
  });

  it('a user whose record was gone when a look read the owners of a device is not there for its replay', async () => {
    on.rules(owned, remodelled);
    user({ Name: 'Eve' });
    await run(1);
    on.platform.users.delete(ANN);
    on.platform.patch('d1', { Model: 'm2' });
    await look({ user_principal: { device: { id: 'd1', serial_number: 'S-d1' } } });
    expect(decided('owned')).toEqual([{ $owners: [ANN] }, undefined]);
    expect(await differences()).toEqual([]);
  });

  it('an event of an owner is one of the devices that a look judges for it, and so it is for its replay', async () => {
    const busy = ruleOf(
      'busy',
      'device',
      '{ some: [{ var: $owners }, { ">=": [{ event_count: { within: 150m } }, 2] }] }',
    );
    on.rules(busy);
    await run(1);
    addEvent(on, 'nobody', ofAnn);
    await run(1);
    await look(ofAnn);
    expect(decided('busy')).toEqual([undefined, undefined, { $owners: [ANN] }]);
    expect(history.runs.at(-1)?.frame.part?.read.map(({ id }) => id)).toEqual(['d1', 'd2']);
    await run(3);
    expect(history.runs.at(-1)?.ended).toHaveLength(2);
    expect(await differences()).toEqual([]);
  });

  it('a rule that looks back knows a change in a list that each run reads twice, and so does its replay', async () => {
    on.rules(many, owned, moved);
    for (let hours = 0; hours < 50; hours += 10) await run(10);
    user({ Name: 'Ann B' });
    for (let hours = 0; hours < 20; hours += 10) await run(10);
    expect(decided('moved').slice(4)).toEqual([undefined, ...Array(2).fill({ 'changed_within(Name, 2d)': true })]);
    expect(await differences()).toEqual([]);
  });

  it('what a look saw beside its subjects is known to the rules that come into force after it', async () => {
    on.rules(many, renamed, changed);
    for (let hours = 0; hours < 50; hours += 10) await run(10);
    on.platform.patch('d1', { Model: 'm2' });
    user({ Name: 'Ann B' });
    await look(ofAnn);
    on.rules(changed);
    for (let hours = 0; hours < 60; hours += 10) await run(10);
    on.platform.patch('d1', { Model: 'm1' });
    await run(10);
    expect(decided('changed').at(-1)).toEqual({ 'changed_within(Model, 2d)': true });
    expect(await differences()).toEqual([]);
  });
});
