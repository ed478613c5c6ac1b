// rules: `signals.yaml` is a part of its rule set, as guards are: checked with file, line and column, in the hash, read again from a stored set.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardsOf } from '../../src/domain/guards.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { filesOf } from '../../src/rules/load/guards-file.ts';
import { loadRules, parseRuleSet } from '../../src/rules/load/read-rule.ts';
import { readSignals } from '../../src/rules/load/signals-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'signals-'));
  put('one.yaml', 'id: one\nsubject: device\nwhen: { "==": [{ var: SerialNumber }, C1] }\nthen: ban_device\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
}
const load = () => loadRules(dir, { traits: ACTIONS });
const linesOf = (text: string) => readSignals([['signals.yaml', text]]).problems.map(problemLine);

const IDP = `transmitters:
  idp:
    issuer: https://idp.example.com/
    audience: https://trustward.example.com
    jwks: https://idp.example.com/jwks.json
    events: [session-revoked, urn:example:other]
    delivery: push
    push_bearer: { env: SIGNAL_IDP_TOKEN }
    keeps: 2d
    members: { urn:example:other: { score: number } }
    subjects: { iss_sub: email, device: serial, map: { 00u1: ana@example.com } }
`;

describe('transmitters', () => {
  it('are with every rule of the set, change its hash and no rule, and are read again from a stored set', async () => {
    const bare = await load();
    put('signals.yaml', IDP);
    const { rules, problems, hash } = await load();
    expect(problems).toEqual([]);
    const transmitters = guardsOf(rules)?.transmitters;
    expect(transmitters).toEqual([
      {
        name: 'idp',
        issuer: 'https://idp.example.com/',
        audience: ['https://trustward.example.com'],
        jwks: { url: 'https://idp.example.com/jwks.json' },
        events: ['https://schemas.openid.net/secevent/caep/event-type/session-revoked', 'urn:example:other'],
        delivery: { method: 'push' },
        pushBearer: { env: 'SIGNAL_IDP_TOKEN' },
        bearer: undefined,
        stream: undefined,
        heartbeatMs: 300_000,
        members: { 'urn:example:other': { score: 'number' } },
        keepsMs: 172_800_000,
        oldestMs: 604_800_000,
        subjects: { issSub: 'email', opaque: 'map', device: 'serial', map: { '00u1': 'ana@example.com' } },
      },
    ]);
    expect(hash).not.toBe(bare.hash);
    expect(rules.map((rule) => rule.hash)).toEqual(bare.rules.map((rule) => rule.hash));
    const again = parseRuleSet(filesOf(rules), { traits: ACTIONS });
    expect(guardsOf(again.rules)?.transmitters).toEqual(transmitters);
    rmSync(join(dir, 'signals.yaml'));
    put('deeper/signals.yaml', IDP);
    expect((await load()).problems.map(problemLine)).toEqual([
      expect.stringContaining('deeper/signals.yaml:1:1: guards, approvals, sources and signals are read at the top'),
    ]);
  });

  it.each<[string, string, string, string]>([
    [
      'an event with a slip',
      'session-revoked,',
      'session-revoke,',
      '6:14: `transmitters.idp.events[0]` expected the name of an event of CAEP or RISC, or an address, found `session-revoke`; did you mean `session-revoked`?',
    ],
    ['a member with a slip', 'push_bearer', 'push_baerer', 'did you mean `push_bearer`?'],
    ['an address without TLS', 'jwks: https', 'jwks: http', '`transmitters.idp.jwks`'],
    ['a variable of the process', 'SIGNAL_IDP_TOKEN', 'TRUSTWARD_API_KEY', 'expected a name that begins with SIGNAL_'],
    ['a file out of the folder', '{ env: SIGNAL_IDP_TOKEN }', '{ file: ../api.key }', 'without `..`'],
    [
      'two places of one secret',
      'env: SIGNAL_IDP_TOKEN',
      'env: SIGNAL_A, file: a',
      'expected `file` or `env`, one of them',
    ],
    ['no keys', 'jwks: https://idp.example.com/jwks.json', '# none', 'give its keys in `jwks`'],
    [
      'a poll without an address',
      'delivery: push\n    push_bearer: { env: SIGNAL_IDP_TOKEN }',
      'delivery: poll',
      'give the address in `poll`',
    ],
    ['a silence that is always a gap', 'keeps: 2d', 'keeps: 2m', 'keeps is shorter than heartbeat (5m)'],
    ['a name that paths cannot have', '  idp:', '  Idp/1:', 'expected lower-case letters'],
  ])('with %s are refused, with where and what to do', (_, from, to, line) => {
    expect(IDP).toContain(from);
    expect(linesOf(IDP.replace(from, to)).join('\n')).toContain(line);
  });

  it('are known to the rules of the set: one that counts the signals of another is refused, with the nearest name', async () => {
    put('signals.yaml', IDP);
    const counting = (name: string) =>
      `id: two\nsubject: device\nwhen: { ">=": [{ signal_count: { transmitter: ${name}, event: session-revoked, within: 1h } }, 1] }\nthen: ban_device\n`;
    put('two.yaml', counting('idb'));
    expect((await load()).problems.map(problemLine).join()).toContain('did you mean `idp`?');
    put('two.yaml', counting('idp'));
    expect((await load()).problems).toEqual([]);
  });
});
