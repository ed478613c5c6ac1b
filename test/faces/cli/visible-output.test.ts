// commands: JSON on a terminal: what a device calls itself neither controls the terminal nor turns its text around, and
// whoever parses it reads the name as it is.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askExemption } from '../../../src/engine/operate/exemption-requests.ts';
import { addRun, decision, deviceSeen, fakeClock, openStore } from '../../support/filled-store.ts';
import { command } from '../../support/in-process.ts';

// C1 controls (U+009B begins an escape sequence by itself), bidirectional overrides, isolates and marks.
const POINTS = [0x80, 0x85, 0x9b, 0x9f, 0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069];
const NAME = `Ana ${POINTS.map((point) => `${String.fromCodePoint(point)}2J`).join('')} 雪 🦊`;
const UNSEEN = /[\u0080-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-visible-'));
  const store = openStore(fakeClock(), join(dir, 'trustward.db'));
  const seen = [deviceSeen('d1', { name: NAME, owners: ['ada@x.org'] })];
  await store.saveIdentities([{ kind: 'device', changed: seen, had: undefined, readAt: 1 }]);
  const engine = { store, clock: fakeClock(), ids: { next: () => '01request' } };
  await askExemption(engine, { person: 'ada@x.org', device: 'd1', reason: NAME, forMs: 3_600_000 });
  await addRun(store, { decisions: [decision({ subjectName: NAME, facts: { DeviceFriendlyName: NAME } })] });
  await store.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('JSON on a terminal', () => {
  it.each([
    ['decisions', ['decisions', '--format', 'json']],
    ['report', ['report', '--format', 'json']],
    ['audit list', ['audit', 'list', '--format', 'json']],
    ['requests list', ['requests', 'list', '--all', '--format', 'json']],
    ['requests list as text', ['requests', 'list', '--all']],
    ['inbox', ['inbox']],
    ['summary', ['summary', '--since', '2020-01-01']],
    ['report as Markdown', ['report', '--format', 'md']],
    ['report as text', ['report', '--format', 'text']],
  ])('has no control character and no override in it: %s', async (_, args) => {
    const { out, code } = await command(args, { TRUSTWARD_DB: join(dir, 'trustward.db') });
    expect(code).toBe(0);
    expect(out).not.toMatch(UNSEEN);
  });

  it('is equal when it is parsed', async () => {
    const { out } = await command(['decisions', '--format', 'json'], { TRUSTWARD_DB: join(dir, 'trustward.db') });
    expect(out).toContain('\\u202e');
    expect(out).toContain('雪 🦊');
    const [shown] = JSON.parse(out).decisions;
    expect([shown.subject.name, shown.facts.DeviceFriendlyName]).toEqual([NAME, NAME]);
  });
});
