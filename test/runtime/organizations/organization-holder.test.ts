// test: the organizations that are worked on while their files change: a bad set replaces nothing, and a file that is gone ends the work on one.
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { watchFolders } from '../../../src/rules/active/rule-holder.ts';
import { OrganizationHolder, organizationsCheck } from '../../../src/runtime/organizations/load-organizations.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Files, makeFiles } from './files.ts';

let files: Files;
let said: string[];
let holder: OrganizationHolder;
beforeEach(() => {
  files = makeFiles();
  said = [];
  const say = (_: object, text: string) => void said.push(text);
  holder = new OrganizationHolder(files.folder, {}, systemClock, { debug: say, info: say, warn: say, error: say });
  files.add('acme');
  files.add('beta');
});
afterEach(() => rmSync(files.root, { recursive: true, force: true }));
const ids = () => holder.all().map(({ id }) => id);

describe('organizations', () => {
  it('are refused at the start, every mistake in one error', async () => {
    files.write('beta.yaml', 'id: [');
    files.add('gamma', 'modus: x\n');
    await expect(holder.load()).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(/^\S+\/beta\.yaml:1:\d+: .+\n\S+\/gamma\.yaml:7:1: there is no `modus`/),
    });
    expect(() => holder.all()).toThrow('before they were loaded');
  });

  it('stay as they are after a bad edit, which is told once, in the log and to everybody who asks', async () => {
    await holder.load();
    expect(organizationsCheck(holder)).toEqual({ name: 'organizations', ok: true, text: '2 organizations' });
    files.add('beta', 'mode: all\n');
    files.add('gamma');
    for (let time = 0; time < 2; time++) expect(await holder.reload()).toBe(true);
    expect(ids()).toEqual(['acme', 'beta']);
    expect(said).toEqual([
      `organizations were refused, the last good set stays: ${files.folder}/beta.yaml:7:1: \`mode\` is \`all\`: expected dry-run, approve, enforce`,
    ]);
    const check = organizationsCheck(holder);
    expect(check).toMatchObject({ ok: false, text: expect.stringContaining('1 problem: beta.yaml:7') });
    expect(check.text).not.toContain('`all`');
    files.add('beta', 'mode: approve\n');
    await holder.reload();
    expect([ids(), holder.find('beta')?.outline.mode, holder.refusal]).toEqual([
      ['acme', 'beta', 'gamma'],
      'approve',
      undefined,
    ]);
    expect(said.at(-1)).toBe('organizations loaded: 3');
  });

  it('are no longer worked on when their file is gone, and nothing of them is deleted', async () => {
    await holder.load();
    rmSync(join(files.folder, 'beta.yaml'));
    await holder.reload();
    expect([ids(), holder.find('beta')]).toEqual([['acme'], undefined]);
    expect(said.at(-1)).toBe('the file of organization `beta` is gone: it is no longer worked on');
  });

  it('stay when the folder is empty or gone: a mount that was lost ends no work', async () => {
    await holder.load();
    renameSync(files.folder, `${files.folder}.away`);
    await holder.reload();
    expect(ids()).toEqual(['acme', 'beta']);
    expect(holder.refusal).toEqual([expect.stringContaining('does not exist')]);
  });

  it('are noticed by the watch when a file changes', async () => {
    await holder.load();
    let changed = () => {};
    const reloaded = new Promise<void>((resolve) => {
      changed = resolve;
    });
    const failed = (error: unknown) => said.push(String(error));
    const watch = watchFolders(
      [files.folder],
      systemClock,
      async (ending) => {
        const inTime = await holder.reload(ending);
        if (holder.find('gamma')) changed();
        return inTime;
      },
      failed,
    );
    files.add('gamma');
    await reloaded;
    await watch.stop();
    expect(ids()).toEqual(['acme', 'beta', 'gamma']);
  });
});
