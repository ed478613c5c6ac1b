// http: the answers of a daemon over a real organization are those that its OpenAPI document describes: each operation is asked, and a name
// that the document does not have fails.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Rollout } from '../../../src/domain/rollout.ts';
import { askExemption } from '../../../src/engine/operate/exemption-requests.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type IdentityProvider, openIdentityProvider, Visitor } from '../../support/identity-provider.ts';
import {
  answerCheck,
  type Check,
  type DescribedOperation,
  type OpenApi,
  operationsOf,
} from '../../support/openapi-document.ts';
import { DISABLE_FAILING } from '../../support/organization.ts';
import { startWhole, type WholeOrganization } from '../web/whole-organization.ts';

let whole: WholeOrganization;
let provider: IdentityProvider;
let operations: DescribedOperation[];
let check: Check;
/** Statuses below 300, by operation. */
const answered = new Map<string, Set<number>>();
const faults: string[] = [];

beforeAll(async () => {
  provider = await openIdentityProvider();
  provider.lies.set('/device/auth', (body) => ({ ...body, interval: 1 }));
  // The token of the configuration is a receiver, too.
  const receivers = { admin: { audience: 'a', events: { 'session-revoked': 'all' } } };
  const file = join(mkdtempSync(join(tmpdir(), 'receivers-')), 'receivers.json');
  writeFileSync(file, JSON.stringify(receivers));
  const signals = { TRUSTWARD_SIGNAL_RECEIVERS: file, TRUSTWARD_PUBLIC_URL: 'https://trustward.example' };
  whole = await startWhole({ ...signals, ...provider.env });
  const document = (await (await fetch(`${whole.url}/openapi.json`)).json()) as OpenApi;
  operations = operationsOf(document);
  check = answerCheck(document, { isClosed: true });
}, 120_000);
afterAll(async () => {
  await whole.close();
  await provider.close();
});

/** Asks by the name of an operation; returns the body of the answer. */
async function ask(
  operationId: string,
  {
    path = {},
    query = {},
    body,
  }: { path?: Record<string, string>; query?: Record<string, string>; body?: object } = {},
) {
  const operation = operations.find((one) => one.operationId === operationId);
  if (!operation) throw new Error(`there is no operation ${operationId}`);
  const place = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] as string));
  const answer = await fetch(`${whole.url}${place}?${new URLSearchParams(query)}`, {
    method: operation.method,
    headers: { authorization: `Bearer ${whole.token}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  const type = answer.headers.get('content-type') ?? '';
  const isEndless = type === 'text/event-stream';
  if (isEndless) await answer.body?.cancel();
  const text = isEndless ? '' : await answer.text();
  const fault = check(operation, answer.status, type, text);
  if (fault) faults.push(fault);
  if (answer.status < 300) answered.set(operationId, (answered.get(operationId) ?? new Set()).add(answer.status));
  else faults.push(`${operationId} answered ${answer.status}: ${text}`);
  return /json$/.test(type) ? JSON.parse(text) : text;
}

const why = { reason: 'a test' };
/** All devices of the platform have joined it since. */
const NOBODY_COVERED = {
  subject: undefined,
  selector: { kind: 'device', field: 'Platform', value: 'macOS' },
  members: '',
} as const;

it('every operation answers as the document describes it', { timeout: 120_000 }, async () => {
  const { of, org } = whole;
  const store = org.composition.engine.store as SqliteStore;
  await store.outbox().raise([{ key: 'a test', code: 'silence', text: 'no run', about: {} }], ['ops'], () => 'note1');

  for (const id of ['healthz', 'readyz', 'getOpenapi', 'getMetrics', 'stream']) await ask(id);
  const rows: Record<string, { id: string; seq: number }[]> = {};
  const lists = { listRuns: 'runs', listPlans: 'plans', listDecisions: 'decisions', listIntents: 'intents' };
  const others = { listClaims: 'claims', listNotifications: 'notifications', listExemptions: 'exemptions' };
  const last = { listRules: 'rules', listAudit: 'entries', listInbox: 'inbox' };
  for (const [id, key] of Object.entries({ ...lists, ...others, ...last })) {
    const body = await ask(id, { query: { limit: '1000' } });
    rows[key] = body[key];
    expect(body[key].length, key).toBeGreaterThan(0);
  }
  await ask('listNotices', { query: { limit: '2' } });
  for (const { id } of rows.runs ?? []) await ask('getRun', { path: { id } });
  for (const format of ['json', 'md', 'text', 'csv', 'html'])
    await ask('getReport', { path: { id: 'latest' }, query: { format } });
  for (const { id } of rows.plans ?? []) await ask('getPlan', { path: { id } });
  await ask('getRule', { path: { id: 'ban-compromised-device' } });
  for (const [kind, id] of [
    ['device', of.device],
    ['user', 'owner0@acme.example'],
    ['service', of.service],
  ] as const) {
    await ask('why', { query: { of: id } });
    if (kind !== 'user') await ask('getSubject', { path: { kind, id } });
    await ask('getTimeline', { path: { kind, id } });
  }
  for (const kind of ['device', 'user', 'service'])
    await ask('listSubjects', { path: { kind }, query: { limit: '2' } });
  await ask('getSummary', { query: { since: '1d' } });
  await ask('explainRule', { path: { id: 'ban-compromised-device' }, body: { subject: of.device } });
  await ask('explainRule', { path: { id: 'disable-failing-service' }, body: { subject: of.service } });
  const text = DISABLE_FAILING.replace('}, 5]', '}, 3]').replace('times: 5', 'times: 3');
  await ask('tryRule', { path: { id: 'disable-failing-service' }, body: { text } });
  await ask('getEvidencePack', { path: { of: of.device as string } });
  await ask('verifyAudit');
  await ask('getEvidence', { path: { id: 'ban-compromised-device' } });
  await ask('beginReplay', { body: { since: '1d' } });
  await ask('getReplay');

  const about = { owner: 'ana', until: '30d', ...why };
  const exemption = await ask('addExemption', { body: { ...about, subject: { kind: 'device', id: of.device } } });
  const stored = (await store.exemption(exemption.id)) as Exemption;
  await store.saveExemption({ ...stored, id: '01joined', ...NOBODY_COVERED }, []);
  await ask('confirmExemption', { path: { id: '01joined' }, body: { ...why } });
  await ask('endExemption', { path: { id: exemption.id }, body: why });

  await ask('addExemption', { body: { ...about, selector: { field: 'Model', value: 'none' }, acceptForgeable: true } });

  const [one] = await store.identitiesOf([of.device]);
  const asked = { person: one?.owners?.[0] ?? '', device: of.device, reason: 'a trip', forMs: 86_400_000 };
  for (const [id, status] of [
    ['grantRequest', 'granted'],
    ['refuseRequest', 'refused'],
  ] as const) {
    const { id: request } = await askExemption(org.composition.engine, asked);
    expect(await ask(id, { path: { id: request }, body: { say: 'a test' } })).toMatchObject({ status });
  }
  expect((await ask('listRequests')).requests).toHaveLength(3);

  await ask('addToken', { body: { name: 'made', scope: 'read', expires: '1d' } });
  expect((await ask('listTokens')).tokens).toHaveLength(1);
  await ask('revokeToken', { path: { name: 'made' } });
  await ask('addSignInLink');
  const { code, completeUri } = await ask('beginLogin');
  await ask('pollLogin', { body: { code } });
  const visitor = new Visitor({ origin: whole.url, request: (path, init) => fetch(`${whole.url}${path}`, init) });
  await visitor.entersCode('u-ana', completeUri);
  await systemClock.sleep(1_000);
  await ask('endLogin', { body: { session: (await ask('pollLogin', { body: { code } })).session } });

  await ask('resolveIntent', { path: { id: of.doubt }, body: { as: 'not-done', ...why } });
  // While everything is stopped, what is approved is not applied at once.
  await ask('stop', { body: why });
  const plan = await ask('getPlan', { path: { id: of.pending } });
  const only = [plan.intents[0].target];
  const approved = await ask('approvePlan', { path: { id: of.pending }, body: { only, digest: plan.digest } });
  expect(approved).toMatchObject({ status: 'approved', applied: null, rest: { status: 'pending' } });
  await ask('resume', { body: why });
  expect((await ask('applyPlan', { path: { id: approved.id } })).applied.intents).toHaveLength(1);
  await ask('rejectPlan', { path: { id: approved.rest.id }, body: { ...why, digest: approved.rest.digest } });

  await ask('checkSubject', { path: { kind: 'device', id: of.device } });

  const claims = (await ask('listClaims', { query: { status: 'standing' } })).claims;
  const [held] = await store.identitiesOf([claims[0].subjectId]);
  const person = held?.owners?.[0] ?? '';
  expect((await ask('linkPerson', { path: { person } })).url).toContain('https://people.example.com/mine/');
  await ask('revokePersonLinks', { path: { person }, body: why });
  expect((await ask('releaseClaims', { body: { target: claims[0].target, ...why } })).released).toHaveLength(1);
  expect((await ask('releaseClaims', { body: { rule: claims[1].rule } })).plan.releases).toBe(claims[1].rule);

  await ask('triggerRun', { body: { mode: 'dry-run', wait: true } });
  for (let at = 0; at < 150; at += 1)
    org.console.fleet.addDevice({ serial: `NEW-${at}`, mdm_compromised: 'TRUE' } as never, []);
  await ask('triggerRun', { body: { mode: 'dry-run', wait: true } });
  const begun = { rule: 'ban-compromised-device', step: 0, passedMs: 0, countedAt: undefined, beganAt: 0, since: 0 };
  const { rules } = org.composition.engine.active();
  const [{ meaning }] = rules.flatMap(({ rollout }) => rollout ?? []) as [Rollout];
  const braked = { at: 0, why: 'a test' };
  await store.setRollout(begun.rule, { ...begun, meaning, reversed: [], exempted: [], braked }, []);
  expect((await ask('getRule', { path: { id: begun.rule } })).rolloutNow.stopped).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    why: 'a test',
  });
  await ask('resumeRollout', { path: { id: begun.rule }, body: why });
  await ask('restartRollout', { path: { id: begun.rule }, body: why });
  await ask('acceptSnapshot', { body: { source: 'devices', ...why } });
  await ask('triggerRun', { body: { mode: 'dry-run' } });

  for (const id of ['getSsfConfiguration', 'getSignalKeys']) await ask(id);
  const { stream_id } = await ask('createSignalStream');
  for (const id of ['getSignalStream', 'getSignalStreamStatus']) await ask(id, { query: { stream_id } });
  await ask('getSignalStream');
  await ask('updateSignalStream', { body: { stream_id, description: 'a test' } });
  await ask('replaceSignalStream', { body: { stream_id } });
  await ask('setSignalStreamStatus', { body: { stream_id, status: 'enabled' } });
  const subject = { format: 'email', email: 'ana@acme.example' };
  for (const id of ['removeSignalSubject', 'addSignalSubject']) await ask(id, { body: { stream_id, subject } });
  await ask('verifySignalStream', { body: { stream_id, state: 'x' } });
  expect(Object.keys((await ask('pollSignalStream', { path: { id: stream_id } })).sets)).toHaveLength(1);
  await ask('deleteSignalStream', { query: { stream_id } });

  expect(faults).toEqual([]);
  expect(
    operations.filter(({ operationId }) => !answered.has(operationId)).map(({ operationId }) => operationId),
  ).toEqual([]);
  for (const id of ['triggerRun', 'pollLogin']) expect(answered.get(id)).toEqual(new Set([200, 202]));
});
