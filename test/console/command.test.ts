// test console: the command `console`: the effect of its options on the server, and what each start prints. In: command
// lines within the process, on port 0. Out: tests; each start is stopped by the test that made it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildProgram } from '../../src/faces/cli/program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'console-command-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Printed = Record<string, string>;

/** Runs the command until `work` is done with the lines that it printed. */
async function started(
  args: string[],
  work: (printed: Printed) => Promise<void>,
  err: (text: string) => void = () => undefined,
): Promise<void> {
  let out = '';
  const run = buildProgram({
    env: {},
    out: (text) => {
      out += text;
    },
    err,
    untilStopped: () => work(Object.fromEntries(out.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)))),
  });
  const common = ['--listen', '127.0.0.1:0', '--db', join(folder, 'console.db')];
  expect(await run(['console', ...common, ...args])).toBe(0);
}

async function get(printed: Printed, path: string, secret: string | undefined): Promise<number> {
  const response = await fetch(`${printed.LISTENING}${path}`, { headers: { Authorization: `Bearer ${secret}` } });
  await response.text();
  return response.status;
}

describe('--api-key', () => {
  it('makes keys of their scopes, prints each once, and keeps them at later starts', async () => {
    const keys = ['--api-key', 'audit:ReadOnly', '--api-key', 'log-shipper:EventWriter'];
    let first: Printed = {};
    await started(keys, async (printed) => {
      first = printed;
      expect(await get(printed, '/api/v1/devices', printed.API_KEY_AUDIT)).toBe(200);
      expect(await get(printed, '/api/v1/devices', printed.API_KEY_LOG_SHIPPER)).toBe(403);
      expect(await get(printed, '/api/v1/devices', printed.API_KEY)).toBe(200);
    });
    await started(keys, async (printed) => {
      expect(Object.keys(printed).filter((name) => name !== '')).toEqual(['LISTENING']);
      expect(await get(printed, '/api/v1/devices', first.API_KEY_AUDIT)).toBe(200);
    });
  });

  it('of another scope replaces the key of the same name', async () => {
    let first: Printed = {};
    await started(['--api-key', 'audit:ReadOnly'], async (printed) => {
      first = printed;
    });
    await started(['--api-key', 'audit:read_logs'], async (printed) => {
      expect(await get(printed, '/api/v1/events', printed.API_KEY_AUDIT)).toBe(200);
      expect(await get(printed, '/api/v1/events', first.API_KEY_AUDIT)).toBe(401);
    });
  });
});

describe('a later start', () => {
  it('says how to make an API key, and on its standard output nothing else than before', async () => {
    let said = '';
    const listen = (text: string) => {
      said += text;
    };
    await started([], async () => undefined, listen);
    expect(said).toBe('');
    await started(
      [],
      async (printed) => expect(Object.keys(printed).filter((name) => name !== '')).toEqual(['LISTENING']),
      listen,
    );
    expect(said).toMatch(
      /^the first start on this database printed its credentials; .*`.*console keys add NAME:Admin --db /,
    );
    expect(said.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('keys add', () => {
  /** What it prints. */
  async function add(...args: string[]): Promise<string> {
    let out = '';
    const io = {
      env: {},
      out: (text: string) => {
        out += text;
      },
      err: () => undefined,
      untilStopped: async () => undefined,
    };
    expect(await buildProgram(io)(['console', 'keys', 'add', ...args])).toBe(0);
    return out;
  }

  it('makes keys that a running console takes at once, and that a later start keeps', async () => {
    const db = join(folder, 'console.db');
    let secrets: (string | undefined)[] = [];
    await started([], async (printed) => {
      const out = await add('audit:ReadOnly', 'shipper:EventWriter', '--db', db);
      secrets = out
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=')[1]);
      expect(out).toMatch(/^API_KEY_AUDIT=twk_\S+\nAPI_KEY_SHIPPER=twk_\S+\n$/);
      expect(await get(printed, '/api/v1/devices', secrets[0])).toBe(200);
      expect(await get(printed, '/api/v1/devices', secrets[1])).toBe(403);
    });
    await started([], async (printed) => expect(await get(printed, '/api/v1/devices', secrets[0])).toBe(200));
  });

  it('makes none where one of the names is taken, or the database is not there', async () => {
    const db = join(folder, 'console.db');
    await expect(add('audit:ReadOnly', '--db', db)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(db),
    });
    expect(existsSync(db)).toBe(false);
    await started(['--api-key', 'audit:ReadOnly'], async (printed) => {
      await expect(add('fresh:Admin', 'audit:Admin', '--db', db)).rejects.toMatchObject({
        code: 'usage',
        message: /`audit`/,
      });
      await expect(add('fresh:Root', '--db', db)).rejects.toMatchObject({
        code: 'usage',
        message: /the key is `fresh:Root`/,
      });
      expect(await get(printed, '/api/v1/devices', printed.API_KEY_AUDIT)).toBe(200);
      expect(await add('fresh:Admin', '--db', db)).toMatch(/^API_KEY_FRESH=/);
    });
  });
});

describe('--db', () => {
  it('in a folder that is not there asks for it in one line, and makes nothing', async () => {
    const db = join(folder, 'nowhere', 'console.db');
    await expect(started(['--db', db], async () => undefined)).rejects.toMatchObject({
      code: 'usage',
      message: `--db is \`${db}\`: there is no folder \`${join(folder, 'nowhere')}\`, make it first`,
    });
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });
});

describe('--seed', () => {
  it('on a database that is not empty is refused with its file and the ways on, and changes nothing', async () => {
    const devices = async (name: string) => {
      let count: unknown;
      await started(['--api-key', `${name}:ReadOnly`], async (printed) => {
        const [secret] = Object.entries(printed).flatMap(([label, value]) =>
          label.startsWith('API_KEY_') ? [value] : [],
        );
        const response = await fetch(`${printed.LISTENING}/api/v1/devices`, {
          headers: { Authorization: `Bearer ${secret}` },
        });
        count = ((await response.json()) as unknown[]).length;
      });
      return count;
    };
    await started(['--seed', '7', '--devices', '5'], async () => undefined);
    expect(await devices('one')).toBe(5);
    for (const again of [
      ['--seed', '8'],
      ['--devices', '9'],
    ])
      await expect(started(again, async () => undefined)).rejects.toMatchObject({
        code: 'usage',
        message: `database \`${join(folder, 'console.db')}\` has the organization of seed 7 already: start without --seed and counts to use it, or give another --db`,
      });
    expect(await devices('two')).toBe(5);
  });
});

describe('--token-lifetime', () => {
  it('is the lifetime of access tokens', async () => {
    await started(['--token-lifetime', '1.5h'], async (printed) => {
      const headers = { Authorization: `Bearer ${printed.REFRESH_TOKEN}` };
      const response = await fetch(`${printed.LISTENING}/api/v1/refresh_token`, { method: 'POST', headers });
      const { Message } = (await response.json()) as { Message: string };
      const { iat, exp } = JSON.parse(Buffer.from(Message.split('.')[1] ?? '', 'base64url').toString());
      expect(exp - iat).toBe(5_400);
    });
  });
});

describe('--edition basic', () => {
  it('has no services', async () => {
    await started(['--edition', 'basic'], async (printed) => {
      expect(await get(printed, '/api/v1/registered_services', printed.API_KEY)).toBe(403);
      expect(await get(printed, '/api/v1/devices', printed.API_KEY)).toBe(200);
    });
  });
});

describe('a mistake in an option', () => {
  it.each([
    [['--api-key', 'audit'], /--api-key is `audit`: expected NAME:SCOPE/],
    [['--api-key', 'audit:Root'], /`audit:Root`: expected one of the scopes Admin, ReadOnly/],
    [['--api-key', 'first-key:ReadOnly'], /give another one/],
    [['--api-key', 'a-b:Admin', '--api-key', 'a_b:Admin'], /`a_b:Admin`: `a-b` has the same label API_KEY_A_B/],
    [['--token-lifetime', '0s'], /--token-lifetime is `0s`: expected a duration from 1s to 365d/],
    [['--token-lifetime', 'soon'], /`soon`/],
    [['--edition', 'gold'], /full, basic/],
  ])('%j is reported in one clear line, and nothing starts', async (args, line) => {
    await expect(started(args, async () => undefined)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(line),
    });
  });
});
