// conformance: every rule of the specification, one test each, on the console (or on the server that the environment names), and its documentation.
import { fail } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINT_IDS, ENDPOINTS, type Endpoint } from '../../../src/platform/contract.ts';
import { type Organization, openOrganization } from '../../support/console-organization.ts';
import { RULES, SECTIONS, STRAY_RULES } from './rules.ts';
import { checkRule, credentialsIn } from './run.ts';
import { openTarget, type Target } from './target.ts';

describe('conformance', () => {
  const named = credentialsIn(process.env);
  let org: Organization | undefined;
  let target: Target;

  beforeAll(async () => {
    if (named) {
      target = openTarget(named);
      return;
    }
    org = await openOrganization({
      listen: { host: '127.0.0.1', port: 0 },
      seed: { seed: 20, devices: 260, users: 150, services: 6, events: 900 },
      faults: true,
    });
    target = openTarget({
      baseUrl: org.console.address,
      apiKey: org.apiKey,
      refreshToken: org.refreshToken,
      adminToken: org.adminToken,
      limitedKey: org.console.issueApiKey('limited', 'ServiceAuthor'),
      mayWrite: true,
    });
  });
  afterAll(() => org?.console.close());

  for (const section of SECTIONS) {
    describe(section, () => {
      for (const rule of RULES.filter((each) => each.section === section)) {
        it(rule.line, async (context) => {
          const { outcome, why } = await checkRule(target, rule);
          if (outcome === 'failed') fail(why);
          if (outcome === 'not checked' && named) context.skip(why);
          expect(outcome, why).toBe('passed');
        });
      }
    });
  }

  describe('the suite itself', () => {
    it('no rule has a section that the specification does not have', () => {
      expect(STRAY_RULES).toEqual([]);
    });

    it('no two rules are called the same', () => {
      const names = RULES.map((rule) => `${rule.section}: ${rule.line}`);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    });

    it('the console logs no failure of its own', () => {
      expect(org?.errors ?? []).toEqual([]);
    });
  });
});

const FILE = new URL('../../../docs/management-api.md', import.meta.url);
const BEGIN = '<!-- conformance:begin -->\n';
const END = '<!-- conformance:end -->';

function tableOfRules(): string {
  const rows = SECTIONS.flatMap((section) =>
    RULES.filter((rule) => rule.section === section).map(
      (rule, index) => `| ${index === 0 ? section : ''} | ${rule.line.replaceAll('|', '\\|')} |`,
    ),
  );
  return ['| section of the specification | line |', '|---|---|', ...rows, ''].join('\n');
}

describe('docs/management-api.md', () => {
  it('has the table of all rules that the suite checks', () => {
    const text = readFileSync(FILE, 'utf8');
    const from = text.indexOf(BEGIN) + BEGIN.length;
    const to = text.indexOf(END);
    const written = text.slice(0, from) + tableOfRules() + text.slice(to);
    if (process.env.UPDATE_DOCS === '1') writeFileSync(FILE, written);
    expect(text, 'run with UPDATE_DOCS=1 to write it anew').toBe(written);
  });
});

const run = promisify(execFile);
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);

describe('the walk through all endpoints', () => {
  let org: Organization;
  beforeAll(async () => {
    org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 }, seed: { seed: 1, devices: 80, users: 50 } });
  });
  afterAll(() => org.console.close());

  const script = [...readFileSync(FILE, 'utf8').matchAll(/```sh walk\n([\s\S]*?)```/g)]
    .map((match) => match[1])
    .join('\n');

  it('calls every endpoint of the specification', () => {
    const calls = script.replaceAll('\\\n', ' ');
    const missing = ENDPOINT_IDS.filter((id) => {
      const endpoint: Endpoint = ENDPOINTS[id];
      if (endpoint.number === undefined && id !== 'refresh_token') return false;
      const path = endpoint.path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '\\$\\w+');
      const method = endpoint.method === 'GET' ? '(?!.*-X )' : `.*-X ${endpoint.method}`;
      return !new RegExp(`curl${method}[^\\n]*\\$BASE${path}["?]`).test(calls);
    });
    expect(missing).toEqual([]);
  });

  it.skipIf(!hasCurl)('runs from top to bottom', async () => {
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      env: {
        PATH: process.env.PATH,
        BASE: org.console.address,
        API_KEY: org.apiKey,
        REFRESH_TOKEN: org.refreshToken,
        ADMIN_TOKEN: org.adminToken,
      },
    });
    expect(stdout).toContain('[{"Message":"Success"}]');
    const kinds = org.console.effects().map((effect) => effect.kind);
    for (const kind of [
      'device_banned',
      'device_unbanned',
      'device_deleted',
      'service_created',
      'service_deleted',
    ] as const) {
      expect(kinds).toContain(kind);
    }
    expect(kinds.filter((kind) => kind === 'bundle_deleted' || kind === 'bundled_service_removed')).toHaveLength(3);
    expect(org.errors).toEqual([]);
  });
});
