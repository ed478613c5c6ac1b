// domain: texts that mention a secret, and facts with a secret's name: what is hidden, what stays, what still compares.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redacted, textWithoutSecrets } from '../../../src/domain/secrets.ts';
import { readEvent } from '../../../src/engine/pull/pull-events.ts';
import { CANARY, hostile } from './secret-forms.ts';

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
