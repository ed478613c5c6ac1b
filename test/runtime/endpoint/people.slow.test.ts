// endpoint: persons' pages over PostgreSQL: a link is one organization's, opens nothing of another, and what is asked there is done by a worker.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BAN_COMPROMISED } from '../../support/organization.ts';
import { textOf } from '../../support/pages.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { freePort } from '../../support/postgres-cluster.ts';
import { type Installation, install, PROVIDER } from './installation.ts';

const ADA = 'ada@people.example';

describe.skipIf(hasNoPostgres)(`persons of two organizations${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let url: string;
  const devices: Record<string, string> = {};
  const links: Record<string, string> = {};

  beforeAll(async () => {
    on = await install(['alpha', 'beta']);
    writeFileSync(
      on.path('rules/ban.yaml'),
      BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 20, percent: 100 }'),
    );
    // Seeded alike: without it the device of the person has one id in both.
    on.consoles.beta?.fleet.addDevice({ serial: 'OTHER' } as never, []);
    for (const [id, { fleet }] of Object.entries(on.consoles)) {
      on.write(id, 'enforce');
      fleet.addUser(ADA, 'Ada');
      const facts = {
        serial: `OF-${id}`,
        friendly_name: `Laptop of ${id}`,
        mdm_compromised: 'TRUE',
        mdm_timestamp: nowNs(),
      };
      devices[id] = fleet.addDevice(facts as never, [ADA]);
    }
    on.env.TRUSTWARD_PUBLIC_URL = 'https://trust.example.com';
    [url] = await Promise.all([on.serve(), on.work()]);
    for (const id of ['alpha', 'beta']) {
      await api(id, 'runs', { mode: 'enforce', wait: true });
      const made = await api(id, `people/${encodeURIComponent(ADA)}/link`, {});
      links[id] = new URL(made.url).pathname;
    }
  }, 300_000);
  afterAll(() => on?.close(), 120_000);

  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
  async function api(id: string, path: string, body: object): Promise<any> {
    const headers = { authorization: `Bearer ${PROVIDER}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/orgs/${id}/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async function ask(path: string, fields?: Record<string, string>, at = url) {
    const body = fields && new URLSearchParams(fields).toString();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      origin: 'null',
    };
    const answer = await fetch(`${at}${path}`, {
      redirect: 'manual',
      ...(body !== undefined && { method: 'POST', headers, body }),
    });
    const html = await answer.text();
    return { status: answer.status, html, text: textOf(html), headers: [...answer.headers.keys()].sort() };
  }

  it('is a page of its own in each, with its styles, for who is not signed in', async () => {
    const { status, text, html } = await ask(links.alpha as string);
    expect({ status, text }).toMatchObject({ status: 200 });
    expect(text).toContain('Laptop of alpha');
    expect(text).not.toContain('beta');
    const css = /href="(\/orgs\/alpha\/mine\/[^"]+\.css[^"]*)"/.exec(html)?.[1] as string;
    expect((await fetch(`${url}${css}`)).headers.get('content-type')).toContain('text/css');
  });

  it('opens nothing of another organization, whether that is there or not, and every refusal is one answer', async () => {
    const token = (links.alpha as string).split('/').at(-1);
    const tries = ['alpha/mine/x', `beta/mine/${token}`, `gamma/mine/${token}`, `alpha/mine/${token}A`];
    const answers = [];
    for (const one of tries) answers.push(await ask(`/orgs/${one}`));
    answers.push(await ask(`/orgs/beta/mine/${token}/check`, { device: devices.alpha as string }));
    answers.push(await ask(`${links.alpha}/check`, { device: devices.beta as string }));
    const same = answers.map(({ status, html, headers }) => ({
      ...{ status, headers: headers.join() },
      html: html.replaceAll(/\/orgs\/(alpha|beta|gamma)\//g, ''),
    }));
    for (const one of same) expect(one).toEqual({ ...same[0], status: 404 });
    expect(on.consoles.beta?.effects().filter(({ kind }) => kind === 'device_unbanned')).toEqual([]);
  });

  it('is checked again through a worker: what is mended is unbanned, and the other organization is left alone', async () => {
    const [alpha] = Object.values(on.consoles);
    const fields = { mdm_compromised: 'FALSE', mdm_timestamp: nowNs() };
    alpha?.fleet.patchDevice(devices.alpha as string, fields as never);
    const begunMs = systemClock.nowMs();
    const { status, text } = await ask(`${links.alpha}/check`, { device: devices.alpha as string });
    process.stdout.write(`checked again through a worker: ${((systemClock.nowMs() - begunMs) / 1_000).toFixed(1)} s\n`);
    expect({ status, text }).toMatchObject({
      status: 200,
      text: expect.stringContaining('mended, and the block is lifted.'),
    });
    for (const [id, console] of Object.entries(on.consoles)) {
      const lifted = console
        .effects()
        .filter(({ kind, target }) => kind === 'device_unbanned' && target === devices[id]);
      expect(lifted).toHaveLength(id === 'alpha' ? 1 : 0);
    }
    expect((await ask(links.beta as string)).text).toContain('Your device is blocked');
  });

  it('asks for an exemption, which waits in that organization alone', async () => {
    const fields = { device: devices.beta as string, reason: 'I am in court', days: '3' };
    expect((await ask(`${links.beta}/ask`, fields)).status).toBe(303);
    expect((await ask(links.beta as string)).text).toContain('You asked for an exemption of 3 days');
  });

  it('has a listener of its own with all organizations, and is then on no other', async () => {
    on.env.TRUSTWARD_PEOPLE_LISTEN = `127.0.0.1:${await freePort()}`;
    const main = await on.serve();
    const alone = `http://${on.env.TRUSTWARD_PEOPLE_LISTEN}`;
    expect((await ask(links.beta as string, undefined, alone)).status).toBe(200);
    expect((await ask('/healthz', undefined, alone)).status).toBe(200);
    for (const path of ['/', '/orgs/beta/', '/api/orgs', '/readyz', '/metrics'])
      expect((await ask(path, undefined, alone)).status).toBe(404);
    expect((await ask(links.beta as string, undefined, main)).text).not.toContain('Laptop');
  });
});

const nowNs = () => BigInt(systemClock.nowMs()) * 1_000_000n;
