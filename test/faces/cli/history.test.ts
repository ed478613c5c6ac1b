// commands: `history …`: what a real run recorded is listed, checked, copied and, for one person, forgotten. In: a database with its history. Out: texts,
// exit codes, files, audit entries.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sizeText } from '../../../src/faces/cli/io.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { verifyHistory } from '../../../src/history/files/forget.ts';
import { listHistory, readSegment } from '../../../src/history/files/segment-files.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
let folder: string;
beforeEach(async () => {
  org = await startOrganization({ devices: 30, compromised: 2, env: { TRUSTWARD_HISTORY: '30d' } });
  await org.run('enforce');
  await org.composition.engine.history?.settled();
  folder = `${org.dbFile}.history`;
});
afterEach(() => org.close());

const history = (...words: string[]) => command(['history', ...words], org.env);
const rows = () => listHistory(folder).segments.flatMap((segment) => [...rowsOf(readSegment(segment))]);
const ownerOf = () => JSON.parse(rows().find(({ path }) => path === 'Emails')?.value ?? '[]')[0] as string;

it('what a run saw is listed and whole, also while a daemon writes; a damaged file is named', async () => {
  const listed = await history('list', '--format', 'json');
  expect(JSON.parse(listed.out)).toMatchObject({ folder, days: [{ runs: 1 }] });
  expect((await history('list')).out).toMatch(/^Day +Runs +Files +Size +Base\n\d{4}-\d\d-\d\d +1 +1 /);
  const whole = await history('verify');
  expect([whole.code, whole.out]).toEqual([0, expect.stringContaining('1 runs in')]);
  const [segment] = listHistory(folder).segments;
  writeFileSync(segment?.file as string, readFileSync(segment?.file as string).subarray(1));
  const damaged = await history('verify', '--format', 'json');
  expect(damaged.code).toBe(1);
  expect(JSON.parse(damaged.out).problems[0]).toMatchObject({
    text: 'its content does not have the checksum of its name',
  });
});

it('its size is that of all files in its folder, also in `doctor`', async () => {
  writeFileSync(join(folder, 'left.new'), Buffer.alloc(3_000_000));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['standing', 'left.new']));
  const listed = JSON.parse((await history('list', '--format', 'json')).out);
  const ofDays = listed.days.reduce((sum: number, day: { bytes: number }) => sum + day.bytes, 0);
  expect(listed.bytes).toBe(bytes);
  expect((await history('list')).out).toMatch(
    new RegExp(`${folder}: ${sizeText(bytes)}, of which ${sizeText(bytes - ofDays)} beside the days`),
  );
  expect((await command(['doctor'], org.env)).out).toContain(`kept for 30d: ${sizeText(bytes)};`);
});

it('lists that no active rule reads are recorded where the configuration names them', async () => {
  const kinds = () => new Set(rows().map(({ kind }) => kind));
  expect(kinds()).not.toContain('user');
  Object.assign(org.env, { TRUSTWARD_RECORD: 'users,services' });
  await org.restart();
  const { run } = await org.run('enforce');
  await org.composition.engine.history?.settled();
  expect([run.status, [...kinds()]]).toEqual(['completed', expect.arrayContaining(['device', 'user', 'service'])]);
});

it('a person is forgotten by their e-mail address, without a daemon alone, and the audit does not name them', async () => {
  const email = ownerOf();
  expect(email).toContain('@');
  const refused = await history('forget', email, '--reason', 'they asked');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('has an active writer: stop it first')]);
  await org.composition.close();
  const { code, out } = await history('forget', email, '--reason', 'they asked', '--format', 'json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ subject: 'user', unreadable: [] });
  expect(JSON.stringify(rows().filter(({ kind }) => kind !== 'rules')).toLowerCase()).not.toContain(
    `"${email.toLowerCase()}`,
  );
  expect(verifyHistory(folder, undefined)).toMatchObject({ ok: true, runs: 1 });
  const entries = await command(['audit', 'list', '--kind', 'history.forgotten', '--format', 'json'], org.env);
  expect(entries.out).toContain('they asked');
  expect(entries.out.toLowerCase()).not.toContain(email.toLowerCase());
  expect((await history('forget', 'nobody-at-all', '--reason', 'x')).code).not.toBe(0);
});

it('a backup takes the history along when it is asked to, file by file', async () => {
  const file = join(org.dir, 'copy.db');
  const { code, out } = await command(['db', 'backup', file, '--with-history'], org.env);
  expect([code, out]).toEqual([0, expect.stringContaining('each checked')]);
  expect(verifyHistory(`${file}.history`, undefined)).toMatchObject({ ok: true, runs: 1 });
});
