// test: rules that would see their own effect, or undo what they do themselves, are refused when they are loaded.
import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';

function problemsOf(subject: 'device' | 'service', when: unknown, then: unknown): string[] {
  const text = JSON.stringify({ id: 'a-rule', subject, when, then });
  const parsed = parseRule(text, 'a-rule.json', { traits: ACTIONS });
  return 'problems' in parsed ? parsed.problems.map(problemLine) : [];
}

const patched = (path: string, patch: unknown): string[] =>
  problemsOf('service', { missing: [path] }, { action: 'update_service', with: { patch } });

describe('a rule that patches a service', () => {
  const tags = { metadata: { tags: { port: '443' } } };
  it.each<[string, unknown]>([
    ['$spec.metadata.description', { metadata: { description: 'x' } }],
    ['Description', { metadata: { description: null } }],
    ['ServiceSpec', { spec: { client_cidrs: null } }],
    ['LastUpdatedAt', { spec: { client_cidrs: null } }],
    ['Port', tags],
    ['$spec.metadata.port', tags],
    ['$spec.metadata.tags', tags],
    ['Domain', { metadata: { tags: null } }],
    ['$spec.spec.backend.target.tls', { spec: { backend: null } }],
    ['OIDCEnabled', { spec: { http_settings: { oidc_settings: { enabled: true } } } }],
  ])('may not read %s when it writes %j', (path, patch) => {
    expect(patched(path, patch)).toEqual([
      expect.stringContaining(`\`when\` reads \`${path}\`, which \`update_service\` itself writes`),
    ]);
  });

  it.each<[string, unknown]>([
    ['Description', tags],
    ['Domain', tags],
    ['$spec.metadata.tags.domain', tags],
    ['$spec.spec.backend.target.tls', { spec: { backend: { target: { port: '443' } } } }],
    ['ServiceName', { metadata: { description: 'x' } }],
  ])('may read %s when it writes %j', (path, patch) => {
    expect(patched(path, patch)).toEqual([]);
  });

  it('gets one problem for a patch that is none', () => {
    expect(patched('$spec.kind', {})).toEqual([expect.stringContaining('at least one member')]);
    expect(patched('$spec.kind', 1)).toEqual([expect.stringContaining('at least one member')]);
  });
});

describe('a rule that bans', () => {
  it.each(['TRUE', 'x'])('may not read Banned, also with the default %s', (fallback) => {
    expect(problemsOf('device', { '==': [{ var: ['Banned', fallback] }, 'TRUE'] }, 'ban_device').join('\n')).toContain(
      '`when` reads `Banned`, which `ban_device` itself writes',
    );
  });
});

describe('a rule of two actions', () => {
  const when = { missing: ['ServiceName'] };
  const add = (bundle: string) => ({ action: 'add_to_bundle', with: { bundle } });
  const remove = (bundle: string) => ({ action: 'remove_from_bundle', with: { bundle } });

  it('may not do a thing and undo it', () => {
    expect(problemsOf('device', { missing: ['OS'] }, ['ban_device', 'unban_device'])).toEqual([
      expect.stringContaining('`unban_device` undoes `ban_device` of the same rule; name one of them'),
    ]);
    expect(problemsOf('service', when, ['enable_service', 'notify', 'disable_service'])).toHaveLength(1);
    expect(problemsOf('service', when, [add('b1'), remove('b1')])).toHaveLength(1);
  });

  it('may move a service from one bundle to another', () => {
    expect(problemsOf('service', when, [remove('b1'), add('b2')])).toEqual([]);
  });
});
