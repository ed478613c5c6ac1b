// test: credentials that are read again: a replaced key works without a restart, an unfit file changes nothing, and no secret is recorded.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditNote } from '../../../src/domain/audit-entry.ts';
import { SecretFiles } from '../../../src/runtime/compose/secret-files.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
const pathOf = (name: string) => join(org.dir, name);
const issue = () => org.console.issueApiKey('rotated', 'Admin');
const audited = async () => {
  const entries = await org.composition.engine.store.audit({ kind: 'credential.replaced', limit: 10 });
  return entries.map(({ bytes }) => JSON.parse(bytes).body);
};

/** Written beside, then renamed over: nobody sees half of it. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

beforeEach(async () => {
  org = await startOrganization({
    devices: 30,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
});
afterEach(() => org.close());

async function startWith(env: Record<string, string>): Promise<void> {
  Object.assign(org.env, env);
  await org.restart();
}

describe('an API key in a file', () => {
  it('that was replaced is read at once when the server refuses the old one: the run completes, and the audit has marks alone', async () => {
    const [first, file] = [issue(), pathOf('api-key')];
    writeFileSync(file, `${first}\n`);
    await startWith({ TRUSTWARD_API_KEY: '', TRUSTWARD_API_KEY_FILE: file });
    expect((await org.run('dry-run')).run.status).toBe('completed');
    const markBefore = org.composition.engine.settings.decide.credential;

    const second = issue(); // the first is refused from now on
    await expect(org.run('dry-run')).rejects.toMatchObject({ code: 'api_refused' });
    replace(file, `${second}\n`);
    expect((await org.run('dry-run')).run.status).toBe('completed');
    expect(await audited()).toEqual([
      {
        name: 'TRUSTWARD_API_KEY_FILE',
        mark: expect.stringMatching(/^[0-9a-f]{4}$/),
        before: expect.stringMatching(/^[0-9a-f]{4}$/),
      },
    ]);
    const all = (await org.composition.engine.store.audit({ limit: 1_000 })).map(({ bytes }) => bytes).join('\n');
    expect(all).not.toContain(first);
    expect(all).not.toContain(second);
    // What the server refused with the old one is tried at once with this one.
    const { settings } = org.composition.engine;
    expect(settings.decide.credential).not.toBe(markBefore);
    expect(settings.act.credential).toBe(settings.decide.credential);
  });

  it('behind swapped links, as in a mounted secret, is followed without any refusal', async () => {
    for (const [name, key] of [
      ['v1', org.env.TRUSTWARD_API_KEY ?? ''],
      ['v2', issue()],
    ] as const) {
      mkdirSync(pathOf(name));
      writeFileSync(join(pathOf(name), 'api-key'), key);
    }
    symlinkSync('v1', pathOf('data'));
    symlinkSync('data/api-key', pathOf('api-key'));
    await startWith({ TRUSTWARD_API_KEY: '', TRUSTWARD_API_KEY_FILE: pathOf('api-key') });
    const daemon = await startDaemon(org.composition);
    symlinkSync('v2', pathOf('data.new'));
    renameSync(pathOf('data.new'), pathOf('data'));
    while ((await audited()).length === 0) await systemClock.sleep(20);
    expect((await org.run('dry-run')).run.status).toBe('completed');
    await daemon.stop();
  });
});

describe('the token of the endpoint in a file', () => {
  it('counts from the next request on when it changed, and the old one is refused', async () => {
    const file = pathOf('token');
    writeFileSync(file, 'the-first-token-0001');
    await startWith({ TRUSTWARD_TOKEN_FILE: file });
    const daemon = await startDaemon(org.composition);
    const statusWith = async (token: string) =>
      (await fetch(`${daemon.url}/api/runs`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await statusWith('the-first-token-0001')).toBe(200);
    replace(file, 'the-second-token-0002');
    while ((await audited()).length === 0) await systemClock.sleep(20);
    expect(await statusWith('the-second-token-0002')).toBe(200);
    expect(await statusWith('the-first-token-0001')).toBe(401);
    await daemon.stop();
  });
});

describe('a file of a secret', () => {
  function reading() {
    const lines: string[] = [];
    const notes: AuditNote[] = [];
    const write = (_: object, text: string) => void lines.push(text);
    const held = { secret: 'the-old-one', fails: false };
    const file = pathOf('secret');
    writeFileSync(file, 'the-old-one\n');
    const files = new SecretFiles({
      files: [
        {
          name: 'SECRET_FILE',
          file,
          current: () => held.secret,
          fault: (secret) => (secret.length < 5 ? 'is too short' : undefined),
          take: (secret) => {
            held.secret = secret;
          },
        },
      ],
      append: async (made) => {
        if (held.fails) throw new Error('the disk is full');
        notes.push(...made);
      },
      clock: systemClock,
      log: { debug: write, info: write, warn: write, error: write },
    });
    return { files, file, held, lines, notes };
  }

  it('that is empty, gone, a folder or unfit leaves the old one in force, and each is said once', async () => {
    const { files, file, held, lines, notes } = reading();
    const arranged: [() => void, string][] = [
      [() => writeFileSync(file, '\n'), 'is empty'],
      [() => rmSync(file), 'cannot be read (ENOENT)'],
      [() => mkdirSync(file), 'cannot be read (it is not a regular file)'],
      [() => [rmSync(file, { recursive: true }), writeFileSync(file, 'abc')], 'is too short'],
      [() => writeFileSync(file, 'a'.repeat(65_537)), 'cannot be read (it is larger than 65536 bytes)'],
    ];
    for (const [arrange, fault] of arranged) {
      arrange();
      for (let looks = 0; looks < 3; looks += 1) await files.look();
      await files.lookAtOnce();
      expect(lines.splice(0)).toEqual([`SECRET_FILE ${fault}: what was read before stays in force`]);
    }
    expect(held.secret).toBe('the-old-one');
    expect(notes).toEqual([]);
  });

  it('that became a pipe, which nobody writes to, holds up no request: the next file is read as before', async () => {
    const { files, file, held, lines } = reading();
    rmSync(file);
    execFileSync('mkfifo', [file]);
    await files.lookAtOnce();
    expect(lines).toEqual([
      'SECRET_FILE cannot be read (it is not a regular file): what was read before stays in force',
    ]);
    replace(file, 'the-new-one');
    await files.lookAtOnce();
    expect(held.secret).toBe('the-new-one');
  });

  it('that is being written counts only when it was the same twice', async () => {
    const { files, file, held } = reading();
    writeFileSync(file, 'the-new');
    await files.look();
    writeFileSync(file, 'the-new-one');
    await files.look();
    expect(held.secret).toBe('the-old-one');
    await files.look();
    expect(held.secret).toBe('the-new-one');
  });

  it('that the audit cannot record is not used', async () => {
    const { files, file, held, lines } = reading();
    held.fails = true;
    replace(file, 'the-new-one');
    await files.lookAtOnce();
    expect(held.secret).toBe('the-old-one');
    expect(lines.join()).toContain('the audit cannot record it: the disk is full');
    held.fails = false;
    await files.lookAtOnce();
    expect(held.secret).toBe('the-new-one');
    expect(lines.join()).not.toContain('the-new-one');
  });
});
