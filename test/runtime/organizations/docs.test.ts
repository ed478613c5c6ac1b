// test: docs/organizations.md: its example is an organization, and its table has every key, each with its setting.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadOrganizations } from '../../../src/runtime/organizations/load-organizations.ts';
import { PLACES } from '../../../src/runtime/organizations/organization-file.ts';
import { ROOT } from '../../support/built.ts';

const text = readFileSync(join(ROOT, 'docs/organizations.md'), 'utf8');
const root = mkdtempSync(join(tmpdir(), 'trustward-docs-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('the example of the docs is loaded', async () => {
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
  for (const name of ['organizations', 'rules/shared', 'rules/acme']) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'organizations/acme.yaml'), example);
  const [acme] = await loadOrganizations(join(root, 'organizations'), {});
  expect(acme).toMatchObject({
    id: 'acme',
    outline: { address: 'https://acme.console.example.com', mode: 'approve', schedule: '*/5 * * * *' },
  });
});

it('the table of the docs has every key with its setting', () => {
  const rows = [...text.matchAll(/^\| `([a-z_.]+)` \| `(TRUSTWARD_[A-Z_]+)` \|/gm)].map(([, key, name]) => [key, name]);
  expect(rows).toEqual(PLACES.map(({ place, setting }) => [place.join('.'), setting.name]));
});
