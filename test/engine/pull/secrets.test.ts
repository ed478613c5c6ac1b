// pull: which parts of a service count as a secret, and which do not: a kept secret is read by many, and a fact dropped
// without need is unknown to every rule.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../../src/domain/facts.ts';
import { isSecretName } from '../../../src/domain/secrets.ts';
import { dropSecrets } from '../../../src/engine/pull/trust-gate.ts';
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
