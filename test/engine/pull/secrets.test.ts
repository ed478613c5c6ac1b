// pull: secrets: which parts count, what is hidden in texts and beside services, and that none is in any table, file, log or report.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../../src/domain/facts.ts';
import { isSecretName, redacted, textWithoutSecrets } from '../../../src/domain/secrets.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { readEvent } from '../../../src/engine/pull/pull-events.ts';
import { dropSecrets } from '../../../src/engine/pull/trust-gate.ts';
import { buildProgram } from '../../../src/faces/cli/program.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import type { SqliteDb } from '../../../src/store/sqlite/database.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import { DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../../support/receiver.ts';
import { type Ended, trustward } from '../../support/trustward.ts';
import { CANARY, hostile, serviceWith } from './secret-forms.ts';

function dropped(record: Facts): { record: Facts; text: string; names: string[] } {
  const names = new Set<string>();
  const kept = dropSecrets(record, names);
  return { record: kept, text: JSON.stringify(kept), names: [...names] };
}
const inSpec = (value: Fact) => dropped(serviceWith('shop', value));
const hostileOf = (record: Facts): unknown => JSON.parse(String(record.ServiceSpec)).spec.hostile;

describe('a secret', () => {
  it('in any form, at any depth and in JSON within JSON, is in no kept record and in no reported name', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const { text, names, record } = inSpec(value);
        expect(text).not.toContain(CANARY);
        expect(names.join()).not.toContain(CANARY);
        expect(names.length).toBeGreaterThan(0);
        expect(names.every((name) => name.startsWith('ServiceSpec.spec.hostile'))).toBe(true);
        expect(JSON.parse(String(record.ServiceSpec))).toMatchObject({ spec: { backend: { target: { port: '80' } } } });
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, Fact, string, unknown]>([
    ['a value beside its name', [{ name: 'Authorization', value: CANARY }], '.value', [{ name: 'Authorization' }]],
    ['a private key', { pem: `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}` }, '.pem', {}],
    ['an item of a list', ['a', `Bearer ${CANARY}`], '', ['a', null]],
    ['in a name', { x: { [`Bearer ${CANARY}`]: 1 } }, '.x (a name that holds a secret)', { x: {} }],
    [
      'the user information of an address',
      { url: `https://user:${CANARY}@host:8443/a?b=c@d` },
      '.url (user information of an address)',
      { url: 'https://host:8443/a?b=c@d' },
    ],
  ])('that is %s is named by its path, and the rest is kept', (_, value, path, rest) => {
    const { record, names } = inSpec(value);
    expect(names).toEqual([`ServiceSpec.spec.hostile${path}`]);
    expect(hostileOf(record)).toEqual(rest);
  });

  it('hidden in hostile text among partial ones is found in time linear in the text', () => {
    const parts = ['://a', 'password"', 'Bearer ', 'a= ', 'x@', '-----BEGIN ', ':\\/\\/', `${'p'.repeat(79)} `];
    for (const part of parts) {
      const { text } = dropped({ ServiceID: 's', Description: `${part.repeat(100_000)} pwd=${CANARY}` });
      expect(text).not.toContain(CANARY);
    }
  });
});

describe('what is not a secret', () => {
  // docs/management-api.md, and further names that occur in specs beside secrets.
  const NAMES =
    'Name Email Groups SerialNumbers TrustData Roles DeviceID KeyID key key_id key_file cert_file client_certificate ' +
    'custom_tls_cert tls_sni host_tag_selector mandatory_headers post_auth_redirect_path trust_auth trust_cb client_id ' +
    'suppress_device_trust_verification disallow_async_auth_redirect bypass_whitelist compass monkey author tokenizer ' +
    'token_type token_endpoint authorization_endpoint api_key_name access_key_id public_key';
  it.each(NAMES.split(' '))('%s stays', (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  it.each([
    ...['Basic plan', 'Basic authentication', 'Bearer tokens', 'The password policy of everybody', 'Basic HTTPS'],
    ...['secret-service:8080', 'https://vault-secrets.internal:443/token', 'https://h/reset-password/:id'],
    ...['bob@example.com', 'https://h/@scope/x', '[ops] ask bob@x.example', '"Token service" by Bob', 'PASSWORD=true'],
    ...['arn:aws:secretsmanager:eu-1:123:secret:x', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
  ])('%j stays to the byte', (text) => {
    const record = { ...serviceWith('shop', [text, { note: text }]), Description: text };
    expect(dropped(record).record).toBe(record);
  });

  it('stays under a name of a secret: switches, empty values and counts', () => {
    const record = serviceWith('shop', { password: null, token: true, secret: '', pwd: 'FALSE', max_tokens: 5 });
    expect(dropped(record).record).toBe(record);
  });

  it("includes a service's id, which stays exact whatever it looks like", () => {
    const { record, names } = dropped({ ...serviceWith('shop', 1), ServiceID: 'pwd=x', pwd: CANARY });
    expect(record.ServiceID).toBe('pwd=x');
    expect(names).toContain('pwd');
  });
});

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl';

function readBody(body: object) {
  const dropped = new Set<string>();
  const read = readEvent({ id: 'e1', created_at: 1, ...body }, dropped);
  if (!read.ok) throw new Error(read.reason);
  return { body: read.event.body, dropped: [...dropped] };
}

describe('a server’s message about a secret', () => {
  it.each([
    ...['invalid token: expired', 'Authorization: missing', 'the API key: not found', 'refresh_token=invalid'],
    ...['Bearer token required', 'access token: signature is invalid', 'token: jwt expired; sign in again'],
    ...['session key: unknown device', 'invalid_grant: refresh token: revoked at 2026-01-01', '[error] token: expired'],
  ])('stays readable: %j', (text) => {
    expect(textWithoutSecrets(text)).toBe(text);
    expect(readBody({ message: text, policies: [text] })).toMatchObject({
      body: { message: text, policies: [text] },
      dropped: [],
    });
  });

  it.each([
    ['sent was X-Api-Key: canary, which is unknown', 'sent was X-Api-Key: [dropped] which is unknown'],
    ['login failed: Password=canary;Port=1', 'login failed: Password=[dropped];Port=1'],
    ['it has "pwd": "can ary, \\"canary\\"", and x', 'it has "pwd": "[dropped]", and x'],
    ['got {\\"db_password\\": \\"canary\\"} here', 'got {\\"db_password\\": \\"[dropped]\\"} here'],
    ['refused: Authorization: Basic canary9== (401)', 'refused: Authorization: [dropped] (401)'],
    ['Authorization: Digest username="canary", response="canary"\nnext', 'Authorization: [dropped]\nnext'],
    ['pass phrase: canary horse canary', 'pass phrase: [dropped]'],
    ['bad {"password": ["canary", "canary"]} and so on', 'bad {"password": [dropped]'],
    [`no user of ${JWT} is known`, 'no user of [dropped] is known'],
    ['key AKIAABCDEFGHIJKLMNOP is off', 'key [dropped] is off'],
    ['pem -----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY----- is old', 'pem [dropped] is old'],
    ['https://user:canary@h.example/ is down', 'https://[dropped]@h.example/ is down'],
    ['token=[dropped]canary', 'token=[dropped]'],
  ])('loses only the secret: %j', (text, kept) => {
    expect(textWithoutSecrets(text)).toBe(kept);
    expect(textWithoutSecrets(kept)).toBe(kept);
  });

  it('shows no secret in any form', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        expect(textWithoutSecrets(JSON.stringify(value))).not.toContain(CANARY);
        // Only its JSON marks a pair.
        if (!JSON.stringify(value).includes('enabled'))
          expect(textWithoutSecrets(`refused: ${JSON.stringify(value)}`)).not.toContain(CANARY);
      }),
      { numRuns: 1_000 },
    );
  });

  it('takes linear time even when hostile', () => {
    const parts = [
      'pwd="x ',
      "token='",
      'eyJeyJeyJeyJ-',
      'eyJaaaaaaaaaa.',
      '-----BEGIN PRIVATE KEY',
      'Bearer a1b2c3 ',
      'pwd=[',
      'gh',
      'a-',
      'xo',
    ];
    for (const part of parts) expect(textWithoutSecrets(`${part.repeat(100_000)} pwd=${CANARY}`)).not.toContain(CANARY);
  });
});

describe('an event', () => {
  it('keeps no secret in any form', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const { body, dropped } = readBody({ message: value, detail: { value } });
        expect(JSON.stringify(body)).not.toContain(CANARY);
        expect(dropped.length).toBeGreaterThan(0);
        expect(dropped.join()).not.toContain(CANARY);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps what rules judge by in a field with the name of a secret', () => {
    const event = {
      token: { id: 'tok-12ab34cd', ok: true, type: 'refresh' },
      authorization: { result: 'denied', policy_id: 'p1' },
      user_principal: { authorization: 'mfa', device: { password_policy: 'NON_COMPLIANT', passcode_length: 6 } },
      password_changed: '2026-01-01T00:00:00Z',
    };
    expect(readBody(event)).toEqual({ body: { id: 'e1', created_at: 1, ...event }, dropped: [] });
  });

  it('with another secret is a different event to a rule that counts distinct ones', () => {
    const texts = [`pwd=${CANARY}`, `pwd=${CANARY}`, `pwd=${CANARY}2`].map(
      (message) => readBody({ message }).body.message,
    );
    expect(texts[0]).toMatch(/^pwd=\[dropped [0-9a-f]{8}\]$/);
    expect(texts[1]).toBe(texts[0]);
    expect(texts[2]).not.toBe(texts[0]);
  });
});

describe('a fact', () => {
  it.each(['COMPLIANT', 'NON_COMPLIANT', 'AES256_GCM', 'TLS13', 'Not set', '2026-01-01', '90', 6, true, null])(
    '%j is kept although its field has the name of a secret',
    (value) => {
      expect(redacted(value, 'MdmData.PasscodeStatus')).toBe(value);
      expect(redacted([value], 'MdmData.AuthToken')).toEqual([value]);
    },
  );

  it.each([
    ['a key under its name', CANARY, 'MdmData.EnrolToken'],
    ['a password with digits', 'Summer2024', 'MdmData.Password'],
    ['a text that holds one', `lab, pwd=${CANARY}`, 'MdmData.Note'],
    ['a token of a known form', JWT, 'MdmData.Note'],
  ])('that is %s is hidden, and differs from another', (_, value, name) => {
    const kept = redacted(value, name);
    expect(kept).toMatch(/^\[dropped [0-9a-f]{8}\]$/);
    expect(redacted(value, name)).toBe(kept);
    expect(redacted(`${value}x`, name)).not.toBe(kept);
  });

  it('holds no secret in any form, and stays the same when redacted again', () => {
    const anyName = fc.constantFrom('Note', 'MdmData.PasswordPolicy', 'AuthToken');
    fc.assert(
      fc.property(hostile, anyName, (value, name) => {
        const kept = redacted(value, name);
        expect(JSON.stringify(kept)).not.toContain(CANARY);
        expect(redacted(kept, name)).toEqual(kept);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('secrets in the texts of devices and events, which people type and agents send', () => {
  /** Reads fields with secrets: by name, in their text, in a list; and one without any. */
  function readingRule(): LoadedRule {
    const text = `
id: ban-odd
title: Ban odd devices
severity: high
subject: device
declares: { MdmData.Note: text, MdmData.EnrolToken: text }
when:
  and:
    - { "!=": [{ var: MdmData.Note }, "calm"] }
    - { "!=": [{ var: MdmData.EnrolToken }, "none"] }
    - { "==": [{ var: Model }, "M1"] }
    - { ">=": [{ event_count: { severity: ERROR, within: 10m } }, 1] }
then: ban_device
mode: approve
limits: { max: 10, percent: 100 }
tests:
  - name: odd
    given: { Model: M1, MdmData: { Note: "x", EnrolToken: "y" } }
    events: [{ severity: ERROR, ago: 1m }]
    expect: match
`;
    const parsed = parseRule(text, 'ban-odd.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const HIDDEN = expect.stringMatching(/^\[dropped [0-9a-f]{8}\]$/);

  let on: OnPlatform;
  let db: SqliteDb;
  beforeEach(() => {
    db = freshDatabase();
    on = startOnPlatform({ rules: [readingRule()], db });
    const MdmData = { Note: `lab, pwd=${CANARY}`, EnrolToken: CANARY };
    on.platform.addDevice('d1', { MdmData });
    on.platform.eventLog.push({
      id: 'e1',
      created_at: on.clock.now - 60_000,
      severity: 'ERROR',
      type: 'Access',
      message: `refused: Authorization: Basic ${CANARY}`,
      user_principal: { device: { id: 'd1', serial_number: 'S-d1', api_key: CANARY } },
    });
  });
  afterEach(() => on.close());

  function everything(): string {
    const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    return JSON.stringify(tables.map(({ name }) => db.all(`SELECT * FROM "${name}"`)));
  }

  describe('a secret in a text of a device or an event', () => {
    it('is in no fact, plan, event or audit entry; the device is still judged by it', async () => {
      const { plan, decisions, run } = await on.run();
      expect(decisions.map(({ facts }) => facts)).toEqual([
        {
          'MdmData.Note': HIDDEN,
          'MdmData.EnrolToken': HIDDEN,
          Model: 'M1',
          'event_count(severity>=ERROR within 10m)': 1,
        },
      ]);
      expect(run.findings?.snapshot.sources.events.dropped.sort()).toEqual([
        'message',
        'user_principal.device.api_key',
      ]);
      expect(everything()).not.toContain(CANARY);
      await on.approve(plan);
      const { refused } = await on.apply(plan);
      expect(refused, 'what was dropped has not drifted').toEqual([]);
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(everything()).not.toContain(CANARY);
    });

    it('is redacted when a drifted field refuses an approved plan', async () => {
      const { plan } = await on.run();
      await on.approve(plan);
      on.platform.patch('d1', { Model: `M2 pwd=${CANARY}` });
      const { intents } = await on.apply(plan);
      expect(intents).toMatchObject([
        { status: 'withdrawn', note: expect.stringMatching(/Model was "M1" and is "\[dropped [0-9a-f]{8}\]"/) },
      ]);
      expect(on.platform.effects).toEqual([]);
      expect(everything()).not.toContain(CANARY);
    });
  });

  describe('an event without a secret', () => {
    it('stays unchanged by the search for secrets', () => {
      const event: Facts = {
        id: 'e1',
        created_at: 1_800_000_000_000,
        message: 'Bearer authentication of ana.ruiz@example.com failed: token expired',
        link: { source: { service_name: 'secret-service:8080' } },
        user_principal: { user: { email: 'ana.ruiz@example.com', groups: null }, client: { user_agent: 'x/1 (y; z)' } },
      };
      const dropped = new Set<string>();
      const read = readEvent(event, dropped);
      expect(read).toMatchObject({ ok: true, event: { body: event } });
      expect([...dropped]).toEqual([]);
    });
  });
});

describe('secrets through the whole engine', () => {
  /** Reads the whole record and acts on it, so that facts, evidence and answers are written. */
  const DISABLE_OPEN = `
id: disable-open-service
title: Disable services that let everybody in
severity: high
subject: service
when:
  and:
    - { "==": [{ var: OIDCEnabled }, "TRUE"] }
    - { "!=": [{ var: $spec.metadata.name }, "nobody"] }
then: disable_service
mode: enforce
limits: { max: 50, percent: 100 }
tests:
  - { name: open, given: { OIDCEnabled: "TRUE" }, expect: match }
`;

  const SPEC = JSON.stringify({
    kind: 'BanyanService',
    metadata: { name: 'open', tags: { note: `{"api_key":"${CANARY}"}` } },
    spec: { backend: { password: CANARY }, http_settings: { headers: { Authorization: `Bearer ${CANARY}` } } },
  });
  const OPEN_SERVICE = {
    ServiceID: 'open.eu.tw',
    ServiceName: 'open',
    ClusterName: 'eu',
    Enabled: 'TRUE',
    OIDCEnabled: 'TRUE',
    OIDCClientSpec: JSON.stringify({ client_id: 'open', client_secret: CANARY }).replaceAll('"', '&#34;'),
    ServiceSpec: SPEC,
  };

  const OF_HOSTILE = DISABLE_OPEN.replaceAll('"TRUE"', '"FALSE"').replace('max: 50', 'max: 500');
  /** Reads whole specs, so that they are facts, and notifies about them. */
  const NOTIFY = OF_HOSTILE.replace('disable-open-service', 'tell-of-open-service')
    .replace('then: disable_service', 'then: { action: notify, with: { to: ops } }')
    .replace('{ var: $spec.metadata.name }, "nobody"', '{ var: ServiceSpec }, "none"');
  /** What it removes is shown, as far as allowed, to the operator who approves it. */
  const UPDATE = OF_HOSTILE.replace('disable-open-service', 'clear-open-service')
    .replace('then: disable_service', 'then: { action: update_service, with: { patch: { spec: { hostile: null } } } }')
    .replace('mode: enforce', 'mode: approve');
  const HOSTILE = fc
    .sample(hostile, { numRuns: 120, seed: 7 })
    .map((value, index) => serviceWith(`hostile-${index}`, value));

  let org: Organization;
  let receiver: Receiver;
  let runs: Ended[];
  /** The output of further commands. */
  const written: string[] = [];

  beforeAll(async () => {
    receiver = await startReceiver();
    const rules = { open: DISABLE_OPEN, failing: DISABLE_FAILING };
    org = await startOrganization({ devices: 20, rules });
    await org.composition.close();
    for (const [name, text] of Object.entries({ tell: NOTIFY, clear: UPDATE }))
      writeFileSync(join(org.rulesDir, `${name}.yaml`), text);
    writeFileSync(join(org.dir, 'ca.pem'), CERTIFICATE);
    const ops = { url: `https://localhost:${receiver.port}/`, secretEnv: 'OPS', allowPrivate: true };
    writeFileSync(join(org.dir, 'webhooks.json'), JSON.stringify({ ops: { ...ops, caFile: join(org.dir, 'ca.pem') } }));
    org.console.faults?.set([
      {
        kind: 'garbage',
        match: { path: '/api/v1/registered_services' },
        body: JSON.stringify([OPEN_SERVICE, ...HOSTILE]),
      },
      {
        kind: 'garbage',
        match: { path: '/api/v1/disable_registered_service' },
        body: JSON.stringify({ Message: `refused: ${org.env.TRUSTWARD_API_KEY}` }),
      },
    ]);
    const env = {
      ...org.env,
      TRUSTWARD_LOG_LEVEL: 'debug',
      TRUSTWARD_WEBHOOKS: join(org.dir, 'webhooks.json'),
      TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
      OPS: 'a secret of some length',
    };
    runs = [];
    for (const args of [
      ['run', '--mode', 'enforce', '--format', 'json'],
      ['report', '--format', 'md'],
      ['audit', 'list', '--format', 'json', '--limit', '1000'],
    ])
      runs.push(await trustward(args, env));
    const io = {
      env,
      out: (text: string) => void written.push(text),
      err: () => {},
      untilStopped: () => new Promise<void>(() => {}),
    };
    for (const args of [
      ['report', '--format', 'text'],
      ['decisions', '--format', 'json'],
      ['plan', '--format', 'json'],
      ['audit', 'export'],
      ['audit', 'export', '--format', 'cloudevents-ocsf'],
    ])
      expect([args, await buildProgram(io)(args)]).toEqual([args, 0]);
  }, 120_000);
  afterAll(async () => {
    await org.close();
    await receiver.close();
  });

  describe('a secret in a service record', () => {
    it('is named as dropped, and the service is still judged and acted on', () => {
      const report = JSON.parse(runs[0]?.out ?? '');
      expect(report.decisions).toContainEqual(
        expect.objectContaining({ rule: 'disable-open-service', target: 'open.eu.tw', decision: 'act' }),
      );
      const { dropped } = report.snapshot.sources.services;
      expect(dropped.filter((name: string) => !name.startsWith('ServiceSpec.spec.hostile')).sort()).toEqual([
        'OIDCClientSpec.client_secret',
        'ServiceSpec.metadata.tags.note.api_key',
        'ServiceSpec.spec.backend.password',
        'ServiceSpec.spec.http_settings.headers.Authorization',
      ]);
      expect(dropped.length).toBeGreaterThan(20);
      expect(org.console.faults?.status().map(({ fired }) => fired > 0)).toEqual([true, true]); // it was really requested
    });

    it('is in no report, log line or audit entry', () => {
      expect(runs.map(({ out }) => out.length > 200)).toEqual([true, true, true]);
      for (const { out, err } of runs) expect(out + err).not.toContain(CANARY);
    });

    it('in any form is in no list of decisions, plan, audit export or notification', () => {
      const all = written.join('');
      for (const { ServiceID } of HOSTILE) expect(all).toContain(ServiceID);
      expect(all).toContain('spec.hostile');
      expect(all).not.toContain(CANARY);
      const received = receiver.received.map(({ body }) => body);
      expect(received.some((body) => body.includes('hostile'))).toBe(true);
      expect(received.join()).not.toContain(CANARY);
    });

    it('is in no file of the engine; neither is the API key, even when the API repeats it', () => {
      const files = readdirSync(org.dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.startsWith('trustward.db'))
        .map((entry) => join(entry.parentPath, entry.name));
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) {
        const bytes = readFileSync(file);
        expect(bytes.includes(CANARY)).toBe(false);
        expect(bytes.includes(org.env.TRUSTWARD_API_KEY as string)).toBe(false);
      }
      for (const { out, err } of runs) expect(out + err).not.toContain(org.env.TRUSTWARD_API_KEY);
    });
  });
});
