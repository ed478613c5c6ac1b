// scenario: every screen of one organization at 80, 100 and 160 columns: no id, serial number, address or rule name is broken, and no line of
// words is wider than the terminal. In: a database with bans, a plan, an exemption and a release. Out: what is printed.
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';
import { notSaid } from '../support/words.ts';

const BAN = BAN_COMPROMISED.replace('revert: true', 'revert: true\nowners: all\nlimits: { max: 1000, percent: 100 }');
const HELD = BAN.replace('id: ban-compromised-device', 'id: ban-device-that-has-been-lost-somewhere')
  .replace('mode: enforce', 'mode: approve')
  .replace('MdmData.CompromisedStatus }, "TRUE"', 'Model }, "Lost 1"')
  .replace('given: { MdmData: { CompromisedStatus: "TRUE" } }', 'given: { Model: "Lost 1" }');
const OWNER = 'maximiliana.featherstonehaugh@subsidiary.acme.example';
const WHY = ['--reason', 'the laptop of the night shift'];

let org: Organization;
/** All that is never broken, as it stands in the records. */
let wholes: string[];
const trustward = (...args: string[]) => command(args, org.env);

beforeAll(async () => {
  org = await startOrganization({ devices: 60, rules: { ban: BAN, lost: HELD } });
  org.console.fleet.addUser(OWNER, 'Maximiliana');
  const ids = ['TRUE', 'TRUE', 'TRUE', ''].map((mdm_compromised, no) =>
    org.console.fleet.addDevice(
      {
        serial: `SCREEN-C02MQHAHEA-${no}`,
        friendly_name: `The field laptop of night shift number ${no}`,
        ...(mdm_compromised === '' ? { model: 'Lost 1' } : { mdm_compromised }),
      } as never,
      no === 3 ? [] : [OWNER],
    ),
  );
  await org.composition.close();
  await trustward('run', '--mode', 'enforce');
  const plans = JSON.parse((await trustward('plans', '--format', 'json')).out).plans as { id: string }[];
  await trustward('exempt', 'add', OWNER, '--owner', 'Ana', '--until', '7d', ...WHY);
  await trustward('run', '--mode', 'enforce');
  const stored = await Promise.all(
    ['plans', 'intents list --state succeeded', 'claims list', 'exempt list', 'runs'].map(async (list) => {
      const [rows] = Object.values(JSON.parse((await trustward(...list.split(' '), '--format', 'json')).out));
      return (rows as { id: string }[]).map(({ id }) => id);
    }),
  );
  wholes = [
    ...ids,
    ...ids.map((_, no) => `SCREEN-C02MQHAHEA-${no}`),
    OWNER,
    'ban-compromised-device',
    'ban-device-that-has-been-lost-somewhere',
    ...stored.flat(),
  ];
  wholes.push(plans[0]?.id as string);
});
afterAll(() => org.close());

async function screen(width: number, args: string[]): Promise<string> {
  const { columns, isTTY } = process.stdout;
  Object.assign(process.stdout, { columns: width, isTTY: true });
  try {
    return stripVTControlCharacters((await trustward(...args)).out);
  } finally {
    Object.assign(process.stdout, { columns, isTTY });
  }
}

const SCREENS = [
  ...['report', 'report 1', 'decisions', 'summary', 'runs', 'plans', 'intents list', 'intents list --state succeeded'],
  ...['claims list', 'exempt list', 'audit list', 'rules list', 'why SCREEN-C02MQHAHEA-0', 'why SCREEN-C02MQHAHEA-3'],
  ...[`why ${OWNER}`, 'explain ban-compromised-device SCREEN-C02MQHAHEA-0', 'doctor', 'facts device --no-sample'],
  ...['decisions --target SCREEN-C02MQHAHEA-0', 'tokens list', 'plans PLAN'],
];

it.each(SCREENS)('`%s` has only words of the glossary', async (line) => {
  const args = line.split(' ').map((arg) => (arg === 'PLAN' ? (wholes.at(-1) as string) : arg));
  expect(notSaid((await trustward(...args)).out)).toEqual([]);
});

describe.each([80, 100, 160])('at %i columns', (width) => {
  it.each(SCREENS)('`%s` breaks nothing that people copy, and stays within the terminal', async (line) => {
    const args = line.split(' ').map((arg) => (arg === 'PLAN' ? (wholes.at(-1) as string) : arg));
    const text = await screen(width, args);
    const joined = text.replace(/[\s│]+/g, '');
    for (const whole of wholes.filter((one) => joined.includes(one))) expect(text).toContain(whole);
    // A command is printed whole, to be copied.
    const wide = text.split('\n').filter((one) => one.length > width && !/trustward /.test(one));
    expect(wide).toEqual([]);
    expect(text).not.toMatch(/(?<![\d-])\d{16,}(?!\d)(?! \(\d{4}-)/);
  });
});

/** Each with how many lines stand above its first row. */
const LISTS: [line: string, others: number][] = [
  ...['runs', 'decisions', 'plans', 'claims list', 'intents list', 'exempt list', 'audit list', 'rules list'].map(
    (line) => [line, 1] as [string, number],
  ),
  ['devices', 2],
];

describe.each(LISTS)('the list `%s`', (line, others) => {
  const args = line.split(' ');
  const rows = async () => {
    const listed = JSON.parse((await trustward(...args, '--format', 'json')).out);
    return [listed, ...Object.values(listed)].find(Array.isArray)?.length ?? 0;
  };
  const linesOf = (text: string) => text.trimEnd().split('\n');

  it.each([20, 80, 100, 160])('has one line a row at %i columns', async (width) => {
    const lines = linesOf(await screen(width, args));
    expect(lines).toHaveLength(others + (await rows()));
    expect(lines.slice(others - 1).filter((one) => one.length > width)).toEqual([]);
  });

  it('is whole with `--wide`, and in a pipe', async () => {
    const piped = (await trustward(...args)).out;
    expect(linesOf(piped)).toHaveLength(others + (await rows()));
    expect(piped).not.toMatch(/…(?: {2}|$)/m); // no cell is cut
    expect(await screen(80, [...args, '--wide'])).toBe(piped);
  });
});

it('the inbox has one line for each thing that waits, and in a pipe the whole command that answers it', async () => {
  const { inbox } = JSON.parse((await trustward('inbox', '--format', 'json')).out) as {
    inbox: { id: string; command: string }[];
  };
  expect(inbox.length).toBeGreaterThan(0);
  for (const width of [80, 100, 160]) {
    const lines = (await screen(width, ['inbox'])).split('\n');
    for (const { id } of inbox) expect(lines.filter((one) => one.includes(id))).toHaveLength(1);
    expect(lines.filter((one) => one.length > width)).toEqual([]);
  }
  const { out } = await trustward('inbox');
  for (const { command: answer } of inbox) expect(out).toContain(answer);
});
