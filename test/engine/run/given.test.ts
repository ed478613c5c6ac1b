// test: facts from elsewhere in runs: joined to each record, gated as the platform's lists are, and unknown where they are not trusted or fresh.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { distrustedNow } from '../../../src/domain/snapshot.ts';
import { acceptSnapshot } from '../../../src/engine/operate/commands.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { GivenInventory, inventoryRule } from '../../support/given-facts.ts';
import { reportText } from '../../support/readable.ts';

const FLEET = 60;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const serials = Array.from({ length: FLEET }, (_, at) => `S-d${at + 1}`);

let on: OnPlatform;
let inventory: GivenInventory;

beforeEach(() => {
  inventory = new GivenInventory();
  on = startOnPlatform({
    rules: [inventoryRule('returned'), inventoryRule('unlisted', { missing: ['$facts.inventory.status'] })],
    settings: (settings) => ({ ...settings, trust: TRUST_DEFAULT }),
  });
  on.engine.given = inventory.gate;
  for (const serial of serials) on.platform.addDevice(serial.slice(2));
});
afterEach(() => on.close());

/** The first ones were returned. */
const rowsOf = (returned: number, count = FLEET) =>
  serials.slice(0, count).map((serial, at) => [serial, { status: at < returned ? 'returned' : 'in use' }] as const);

async function run() {
  on.clock.pass(HOUR_MS);
  const { run } = await on.run('dry-run');
  const counts = (run.findings?.tallies ?? []).map(({ rule, match, unknown, missing }) => ({
    rule,
    match,
    unknown,
    missing,
  }));
  const [reading] = run.findings?.snapshot.given ?? [];
  return { run, counts, codes: reading?.reasons.map(({ code }) => code), reading };
}
const knownOf = ({ counts }: Awaited<ReturnType<typeof run>>) => counts.map(({ match, unknown }) => [match, unknown]);

describe('a run over rules that read facts from elsewhere', () => {
  it('joins them to each record, and knows nothing while they are not read, or stale', async () => {
    const missing = { '$facts.inventory': FLEET };
    const unread = await run();
    expect(unread.counts).toMatchObject([
      { match: 0, unknown: FLEET, missing },
      { match: 0, unknown: FLEET, missing },
    ]);
    expect(unread.codes).toEqual(['incomplete']);
    inventory.read(rowsOf(3, FLEET - 2), on.clock.nowMs());
    expect(knownOf(await run())).toEqual([
      [3, 2],
      [2, 0],
    ]);
    on.clock.pass(DAY_MS);
    const stale = await run();
    expect(knownOf(stale)).toEqual([
      [0, FLEET],
      [0, FLEET],
    ]);
    expect(stale.codes).toEqual(['stale']);
    // The rest goes on, and the report says why.
    expect(stale.run.findings?.snapshot.sources.devices.trusted).toBe(true);
    const text = reportText(await buildReport(on.store, stale.run));
    expect(text).toContain('$facts.inventory: its data is 26 h old');
    // So do alerts, /readyz and `doctor`.
    expect(distrustedNow([stale.run]).map(({ reading }) => reading.source)).toEqual(['$facts.inventory']);
  });

  it('does not trust one that shrank, or in which a fact that a rule reads moved; a person accepts it', async () => {
    inventory.read(rowsOf(2), on.clock.nowMs());
    expect((await run()).codes).toEqual([]);
    inventory.read(rowsOf(30), on.clock.nowMs());
    const moved = await run();
    expect([moved.codes, knownOf(moved)]).toEqual([
      ['fact_moved'],
      [
        [0, FLEET],
        [0, FLEET],
      ],
    ]);
    await acceptSnapshot(on.engine, 'inventory', { by: 'ana', reason: 'a whole team left' });
    const accepted = await run();
    expect([accepted.reading?.accepted?.by, knownOf(accepted)]).toEqual([
      'ana',
      [
        [30, 0],
        [0, 0],
      ],
    ]);
    inventory.read(rowsOf(20, 40), on.clock.nowMs());
    const shrunk = await run();
    expect([shrunk.codes, knownOf(shrunk)]).toEqual([
      ['shrunk'],
      [
        [0, FLEET],
        [0, FLEET],
      ],
    ]);
    // A process that begins knows it from the database.
    on.engine.given = new GivenInventory().gate;
    const again = new GivenInventory();
    again.read(rowsOf(20, 40), on.clock.nowMs());
    on.engine.given = again.gate;
    expect((await run()).codes).toEqual(['shrunk']);
  });

  it('leaves out rows whose key is repeated, and the whole where many are', async () => {
    inventory.read(rowsOf(2, 58), on.clock.nowMs(), ['S-d59']);
    expect(knownOf(await run())).toEqual([
      [2, 2],
      [1, 1],
    ]);
    inventory.read(rowsOf(2, 45), on.clock.nowMs(), serials.slice(45));
    expect((await run()).codes).toContain('repeated_key');
  });
});
