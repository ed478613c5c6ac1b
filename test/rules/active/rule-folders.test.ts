// test: rules of several folders make one set: shared ones, and those of one organization.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lineOf } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { foldersIn, loadRuleFolder, realFolders } from '../../../src/rules/active/rule-holder.ts';
import { BAN_COMPROMISED, DISABLE_FAILING } from '../../support/organization.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-folders-'));
  for (const name of ['shared', 'acme', 'other/acme']) mkdirSync(join(dir, name), { recursive: true });
  writeFileSync(join(dir, 'shared', 'ban.yaml'), BAN_COMPROMISED);
  writeFileSync(join(dir, 'acme', 'disable.yaml'), DISABLE_FAILING);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const folders = (...names: string[]) => names.map((name) => join(dir, name)).join(':');
const load = (text: string) => loadRuleFolder(text, ACTIONS);
const faultOf = (text: string) => load(text).then(() => 'loaded', lineOf);

describe('rules of several folders', () => {
  it('are one set, and each file is called by its folder', async () => {
    const { rules, hash } = await load(folders('shared', 'acme'));
    expect(rules.map(({ file }) => file).sort()).toEqual(['acme/disable.yaml', 'shared/ban.yaml']);
    expect((await load(folders('acme', 'shared'))).hash).toBe(hash);
    expect((await load(folders('shared'))).rules.map(({ file }) => file)).toEqual(['ban.yaml']);
  });
  it('are called by the whole path where the last part is the same', async () => {
    writeFileSync(join(dir, 'other', 'acme', 'ban.yaml'), BAN_COMPROMISED);
    const { rules } = await load(folders('acme', 'other/acme'));
    expect(rules.map(({ file }) => file)).toContain(join(dir, 'other/acme/ban.yaml'));
  });
  it('have each id once: a second one names both files', async () => {
    writeFileSync(join(dir, 'acme', 'own.yaml'), BAN_COMPROMISED);
    expect(await faultOf(folders('shared', 'acme'))).toMatch(
      /^acme\/own\.yaml:\d+:1: the id `[a-z-]+` is used by `shared\/ban\.yaml` already; ids are unique$/,
    );
  });
  it('may have an empty folder among them, and no missing one', async () => {
    expect((await load(folders('shared', 'other'))).rules).toHaveLength(1);
    expect(await faultOf(folders('shared', 'gone'))).toMatch(/^the rules folder `\S+\/gone` does not exist: [^\n]+$/);
    expect(await faultOf(folders('other', 'other/acme'))).toContain('there is no rule in');
  });
  it('show the problems of all of them', async () => {
    writeFileSync(join(dir, 'shared', 'bad.yaml'), 'id: [');
    writeFileSync(join(dir, 'acme', 'bad.yaml'), 'id: [');
    const lines = (await faultOf(folders('shared', 'acme'))).split('\n');
    expect([...new Set(lines.map((line) => line.split(':')[0]))]).toEqual(['acme/bad.yaml', 'shared/bad.yaml']);
  });
});

describe('the text of folders', () => {
  it('is one folder where there is one of that very name', () => {
    mkdirSync(join(dir, 'a:b'));
    expect(foldersIn(join(dir, 'a:b'))).toEqual([join(dir, 'a:b')]);
    expect(foldersIn('rules')).toEqual(['rules']);
    expect(foldersIn('no:such::ones')).toEqual(['no', 'such', 'ones']);
  });
  it('is compared by real paths', () => {
    symlinkSync(join(dir, 'shared'), join(dir, 'link'));
    expect(realFolders(folders('link', 'acme'))).toBe(realFolders(folders('shared', 'acme')));
  });
});
