// support: a folder of organization files with their rules and credentials, made anew for each test.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BAN_COMPROMISED, DISABLE_FAILING } from '../../support/organization.ts';

export interface Files {
  root: string;
  folder: string;
  write(name: string, text: string): void;
  /** A good file of this id, with its credential; `more`: further lines. */
  add(id: string, more?: string): void;
}

export function makeFiles(): Files {
  const root = mkdtempSync(join(tmpdir(), 'trustward-organizations-'));
  const folder = join(root, 'organizations');
  for (const name of ['organizations/secrets', 'rules/shared', 'rules/own'])
    mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'rules/shared/ban.yaml'), BAN_COMPROMISED);
  writeFileSync(join(root, 'rules/own/disable.yaml'), DISABLE_FAILING);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const add = (id: string, more = '') => {
    write(`secrets/${id}.key`, `key-of-${id}\n`);
    write(`${id}.yaml`, textOf(id, more));
  };
  return { root, folder, write, add };
}

export function textOf(id: string, more = ''): string {
  return `id: ${id}
name: The ${id}
api:
  url: https://${id}.console.example
  api_key_file: secrets/${id}.key
rules: [../rules/shared, ../rules/own]
${more}`;
}
