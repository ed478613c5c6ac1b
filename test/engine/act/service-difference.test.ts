// test: what `update_service` changes, from what to what: in the decision, the plan that a person approves, and every report.
import { afterEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/domain/plan.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportJson } from '../../../src/faces/report/json.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';
import { reportMarkdown, reportText } from '../../support/readable.ts';

const SERVICE = 'shop.east';
const PORT = { spec: { backend: { target: { port: '8443' } } } };
const FROM_80 = [{ path: 'spec.backend.target.port', from: '80', to: '8443' }];

let on: OnPlatform;
afterEach(() => on.close());

function start(patch: object = PORT, mode = 'enforce'): void {
  const rule = {
    id: 'on-service',
    subject: 'service',
    when: { '==': [{ var: 'Description' }, 'trouble'] },
    then: { action: 'update_service', with: { patch } },
    mode,
    limits: { max: 100, percent: 100 },
  };
  const parsed = parseRule(JSON.stringify(rule), 'on-service.json', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
  on = startOnPlatform({ rules: [parsed.rule] });
  setPort('80');
}

function setSpec(ServiceSpec: string): void {
  on.platform.services.set(SERVICE, {
    ServiceID: SERVICE,
    ServiceName: 'shop',
    ClusterName: 'east',
    Enabled: 'TRUE',
    Description: 'trouble',
    ServiceSpec,
  });
}

function setPort(port: string, more: object = {}): void {
  const metadata = { name: 'shop', cluster: 'east' };
  setSpec(JSON.stringify({ metadata, spec: { backend: { target: { name: 'db', port } }, ...more } }));
}

async function written({ run }: Round): Promise<string[]> {
  const report = await buildReport(on.store, run);
  return [reportJson(report), reportMarkdown(report), reportText(report, { width: 200 })];
}

describe('the difference', () => {
  it.each(['dry-run', 'enforce'] as const)(
    'is in the decision, the plan and all reports of a run of mode %s',
    async (mode) => {
      start();
      const round = await on.run(mode);
      expect(round.decisions.map(({ effect }) => effect.changes)).toEqual([FROM_80]);
      expect(round.plan?.intents.map(({ effect }) => effect.changes)).toEqual([FROM_80]);
      expect(round.plan?.intents[0]?.effect.text).toBe(
        `update service ${SERVICE}: set \`spec.backend.target.port\` from "80" to "8443"`,
      );
      const [json, md, text] = await written(round);
      expect(JSON.parse(json as string)).toMatchObject({
        decisions: [{ effect: { changes: FROM_80 } }],
        plan: { held: [{ effect: { changes: FROM_80 } }] },
      });
      expect(md).toContain('| spec.backend.target.port: "80" → "8443" |');
      expect(text).toContain('spec.backend.target.port: "80" → "8443"');
      expect(on.platform.sent).toEqual([]);
    },
  );

  it('of a rule of mode dry-run, which no plan has, is in its report too', async () => {
    start(PORT, 'dry-run');
    const round = await on.run();
    expect(round.plan).toBeUndefined();
    expect((await written(round))[2]).toContain('spec.backend.target.port: "80" → "8443"');
  });

  it('shows what is new, what is removed, and that nothing is left to change', async () => {
    start({ spec: { backend: { tls: true }, cidrs: null } });
    setPort('80', { cidrs: ['10.0.0.0/8'] });
    const { decisions } = await on.run();
    expect(decisions[0]?.effect).toMatchObject({
      text: `update service ${SERVICE}: set \`spec.backend.tls\` to true, remove \`spec.cidrs\` (it is ["10.0.0.0/8"])`,
    });
    setSpec('{"metadata":{"name":"shop","cluster":"east"},"spec":{"backend":{"tls":true}}}');
    const after = await on.run();
    expect(after.decisions[0]?.effect.changes).toEqual([]);
    expect((await written(after))[2]).toContain('nothing: already in this state');
  });

  it('of an unreadable spec is not made up: what would be set is shown', async () => {
    start();
    setSpec('no spec at all');
    const { decisions } = await on.run();
    expect(decisions[0]?.effect).toEqual({
      text: `update service ${SERVICE}: set \`spec.backend.target.port\` to "8443"`,
      devices: [],
    });
  });

  it('shows no secret of the spec, and that one would be taken away', async () => {
    start({ spec: { backend: null, oidc: null, extra: { client_secret: null } } });
    const oidc = { client_secret: 'CANARY', domain: 'x.example' };
    setPort('80', { oidc, extra: { client_secret: 'CANARY' }, sidecar: { auth_token: 'CANARY' } });
    const round = await on.run();
    const changes = round.plan?.intents[0]?.effect.changes;
    expect(changes?.map(({ path }) => path)).toEqual(['spec.backend', 'spec.oidc', 'spec.extra.client_secret']);
    expect(changes?.at(-1)).toEqual({ path: 'spec.extra.client_secret', from: '[dropped]', to: null });
    await on.apply(await on.approve(round.plan));
    const kept = [round, await on.store.intents({}), await on.store.audit({ limit: 1_000 }), await written(round)];
    expect(JSON.stringify(kept)).not.toContain('CANARY');
    expect(on.platform.sent).toEqual([`write ${SERVICE}`]);
  });
});

describe('a secret that its name does not show', () => {
  const FORMS = {
    headers: [{ name: 'Authorization', value: 'CANARY' }],
    pem: '-----BEGIN PRIVATE KEY-----\nCANARY',
    sent: ['Bearer CANARY'],
    url: 'https://user:CANARY@host.example/',
    note: '{"api-key":"CANARY"}',
    auth: { header: 'X-Api-Key', value: 'CANARY' },
  };

  it('is in no decision, plan, report or audit entry when it is taken away, and in the request when it stays', async () => {
    start({ spec: { backend: null, auth: { value: null } } });
    setSpec(
      JSON.stringify({
        metadata: { name: 'shop', cluster: 'east' },
        spec: { backend: FORMS, auth: FORMS.auth, kept: FORMS },
      }),
    );
    const round = await on.run();
    expect(round.plan?.intents[0]?.effect.changes?.map(({ path }) => path)).toEqual(['spec.backend']);
    await on.apply(await on.approve(round.plan));
    const kept = [round, await on.store.intents({}), await on.store.audit({ limit: 1_000 }), await written(round)];
    expect(JSON.stringify(kept)).not.toContain('CANARY');
    expect(JSON.stringify(kept)).toContain('[dropped]');
    expect(JSON.parse(on.platform.services.get(SERVICE)?.ServiceSpec as string).spec).toEqual({
      auth: { header: 'X-Api-Key' },
      kept: FORMS,
    });
  });

  it.each(Object.entries(FORMS))('must not be in a patch: %s', (name, value) => {
    const refused = ACTIONS.get('update_service')?.refuseSettings?.({ patch: { spec: { [name]: value } } });
    expect(refused).toMatch(new RegExp(`^\`patch\` sets \`spec\\.${name}.*, which is a secret`));
    expect(refused).not.toContain('CANARY');
  });
});

describe('a service that somebody edits', () => {
  it('before the approval makes a new decision, and the plan is carried on with the current difference', async () => {
    start();
    const { plan: first } = await on.run();
    expect((await on.run()).plan?.id).toBe(first?.id);
    setPort('81');
    const { plan: second, decisions } = await on.run();
    expect(decisions.map(({ effect }) => effect.changes?.[0]?.from)).toEqual(['81']);
    expect(second?.intents[0]?.effect.changes?.[0]?.from).toBe('81');
    expect(second).toMatchObject({ id: first?.id, status: 'pending' });
    expect(second?.digest).not.toBe(first?.digest);
  });

  it('after the approval is not what was approved: refused with the field named, and nothing is written', async () => {
    start();
    const agreed: Plan = await on.approve((await on.run()).plan);
    setPort('81');
    expect((await on.apply(agreed)).intents).toMatchObject([
      { status: 'withdrawn', note: 'changed since the plan was made: spec.backend.target.port was "80" and is "81"' },
    ]);
    expect(on.platform.sent).toEqual([]);
  });

  it('in another place than the patch changes is written all the same, with that edit kept', async () => {
    start();
    const agreed = await on.approve((await on.run()).plan);
    setPort('80', { cidrs: ['10.0.0.0/8'] });
    expect((await on.apply(agreed)).intents).toMatchObject([{ outcome: 'succeeded' }]);
    expect(JSON.parse(on.platform.services.get(SERVICE)?.ServiceSpec as string).spec).toEqual({
      backend: { target: { name: 'db', port: '8443' } },
      cidrs: ['10.0.0.0/8'],
    });
  });
});
