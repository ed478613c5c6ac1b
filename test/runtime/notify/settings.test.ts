// test: the webhooks' configuration: every mistake is one clear line, and no secret is repeated.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/runtime/config/config.ts';
import type { MayLack } from '../../../src/runtime/config/name-reader.ts';

const SECRET = 'canary-secret-of-a-webhook';
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-'));
  writeFileSync(join(dir, 'secret'), `${SECRET}\n`);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function read(text: string, env: Record<string, string> = {}, name = 'webhooks.yaml', mayLack: MayLack = []) {
  const file = join(dir, name);
  writeFileSync(file, text);
  const base = { TRUSTWARD_WEBHOOKS: file, TRUSTWARD_WEBHOOK_HOSTS: 'hooks.example.com, 10.0.0.1', OPS_SECRET: SECRET };
  return readConfig({ ...base, ...env }, {}, undefined, mayLack).notify;
}

describe('the webhooks', () => {
  it('whose secret cannot be read, or cannot be one, have none for who may lack secrets; other mistakes stay mistakes', () => {
    const ops = (secretFile: string, more = '') =>
      `ops: { url: "https://hooks.example.com/a", secretFile: ${join(dir, secretFile)}${more} }`;
    writeFileSync(join(dir, 'short'), 'short\n');
    for (const name of ['short', 'gone']) {
      for (const lack of ['secrets', 'webhook_secrets'] as const)
        expect(read(ops(name), {}, 'webhooks.yaml', [lack]).webhooks.get('ops')?.secret).toBe('');
      expect(() => read(ops(name), {}, 'webhooks.yaml', ['webhooks'])).not.toThrow();
      expect(() => read(ops(name))).toThrow('webhook `ops`');
    }
    expect(() => read(ops('gone', ', timeout: soon'), {}, 'webhooks.yaml', ['secrets'])).toThrow('timeout is `soon`');
  });

  it.each([
    ['a file that is no YAML', 'ops: ['],
    ['an address that is not allowed', 'ops: { url: "https://evil.example.com/x", secretEnv: OPS_SECRET }'],
  ])('with %s are none for who may lack webhooks, and nobody is alerted through them', (_, text) => {
    const env = { TRUSTWARD_ALERTS_TO: 'ops' };
    expect(read(text, env, 'webhooks.yaml', ['secrets', 'webhooks'])).toMatchObject({
      webhooks: new Map(),
      alertsTo: [],
    });
    expect(() => read(text, env, 'webhooks.yaml', ['secrets'])).toThrow();
  });

  it('are read from YAML and from JSON, with secrets from a file or the environment', () => {
    const yaml = `ops: { url: "https://hooks.example.com/a", secretFile: ${join(dir, 'secret')}, timeout: 3s, attempts: 4 }`;
    expect(read(yaml).webhooks.get('ops')).toMatchObject({ secret: SECRET, timeoutMs: 3_000, attemptsMax: 4 });
    const json = '{ "ops": { "url": "https://hooks.example.com:8443/a", "secretEnv": "OPS_SECRET" } }';
    const { webhooks, alertsTo, silenceMs } = read(json, { TRUSTWARD_ALERTS_TO: 'ops' }, 'webhooks.json');
    expect(webhooks.get('ops')).toMatchObject({ secret: SECRET, timeoutMs: 10_000, allowPrivate: false });
    expect(alertsTo).toEqual(['ops']);
    expect(silenceMs).toBe(1_800_000);
  });

  it('name the events and rules that they receive, and how many at once', () => {
    const more = 'events: [decision, outcome], rules: [ban], batch: { most: 5, wait: 1m }';
    const ops = `url: "https://hooks.example.com/a", secretEnv: OPS_SECRET`;
    const feed = { events: ['decision', 'outcome'], rules: ['ban'], most: 5, waitMs: 60_000 };
    expect(read(`ops: { ${ops}, ${more} }`).webhooks.get('ops')?.feed).toEqual(feed);
    const defaults = { events: ['outcome'], rules: undefined, most: 100, waitMs: 10_000 };
    expect(read(`ops: { ${ops}, events: [outcome] }`).webhooks.get('ops')?.feed).toEqual(defaults);
    expect(read(`ops: { ${ops} }`).webhooks.get('ops')?.feed).toBeUndefined();
  });

  it.each([
    ['events: [alert]', 'ops.events.0'],
    ['events: []', 'ops.events'],
    ['rules: [ban]', 'rules is set but events is not'],
    ['batch: { most: 5 }', 'batch is set but events is not'],
    ['events: [decision], batch: { most: 0 }', 'ops.batch.most'],
    ['events: [decision], batch: { wait: 2h }', 'batch.wait is `2h`: expected'],
    ['events: [decision], batch: { wait: soon }', 'batch.wait is `soon`: expected'],
  ])('that receive events are refused with %s', (more, problem) => {
    const text = `ops: { url: "https://hooks.example.com/a", secretEnv: OPS_SECRET, ${more} }`;
    expect(() => read(text)).toThrow(problem);
  });

  it.each([
    ['ops: { url: "http://hooks.example.com/x", secretEnv: OPS_SECRET }', 'begins with https://'],
    ['ops: { url: "https://evil.example.com/x", secretEnv: OPS_SECRET }', 'not among TRUSTWARD_WEBHOOK_HOSTS'],
    ['ops: { url: "https://10.0.0.1/x", secretEnv: OPS_SECRET }', '10.0.0.1 is not a public address'],
    ['ops: { url: "https://a:b@hooks.example.com/x", secretEnv: OPS_SECRET }', 'holds a user name or password'],
    ['ops: { url: "https://hooks.example.com/x" }', 'secretFile or in secretEnv'],
    ['ops: { url: "https://hooks.example.com/x", secretEnv: NONE }', 'NONE is not set'],
    ['ops: { url: "https://hooks.example.com/x", secretFile: /nowhere }', 'cannot be read (ENOENT)'],
    ['ops: { url: "https://hooks.example.com/x", secretEnv: OPS_SECRET, timeout: 1h }', 'at most 60s'],
    ['ops: { url: "https://hooks.example.com/x", secretEnv: OPS_SECRET, more: 1 }', 'ops'],
    ['ops: [', 'is not valid YAML'],
  ])('of %s are refused', (text, problem) => {
    expect(() => read(text)).toThrow(problem);
    expect(() => read(text)).not.toThrow(SECRET);
  });

  it.each([
    ['https://tw.example.com/', 'https://tw.example.com'],
    ['http://10.0.0.1:8080/base', 'http://10.0.0.1:8080/base'],
  ])('link to pages under %s', (given, publicUrl) => {
    expect(readConfig({ TRUSTWARD_PUBLIC_URL: given }).notify).toMatchObject({ publicUrl });
  });

  it.each([
    ['tw.example.com', 'expected an address'],
    ['ftp://tw.example.com', 'expected an address'],
    ['https://tw.example.com/?a=1', 'without query or fragment'],
    ['https://tw.example.com/#a', 'without query or fragment'],
    [`https://ada:${SECRET}@tw.example.com`, 'holds a user name or password'],
  ])('link nowhere under %s', (given, problem) => {
    const reading = () => readConfig({ TRUSTWARD_PUBLIC_URL: given });
    expect(reading).toThrow(problem);
    expect(reading).not.toThrow(SECRET);
  });

  it('named for alerts must exist', () => {
    expect(() => readConfig({ TRUSTWARD_ALERTS_TO: 'ops' })).toThrow('TRUSTWARD_ALERTS_TO names `ops`');
  });
});
