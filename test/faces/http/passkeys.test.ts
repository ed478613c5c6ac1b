// http: persons register passkeys on their page and answer plans with them; what an authenticator did not sign for this very answer is refused, and the audit
// verifies each touch offline.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Approvals } from '../../../src/domain/approvals.ts';
import { type AuditEntry, entryBody } from '../../../src/domain/audit-entry.ts';
import { planDigest } from '../../../src/domain/digest.ts';
import type { Plan } from '../../../src/domain/plan.ts';
import type { Rule } from '../../../src/domain/rule.ts';
import { sealedNote } from '../../../src/engine/approve/plans.ts';
import { TouchWalk } from '../../../src/engine/audit/touches.ts';
import { approvePart } from '../../../src/engine/operate/plans.ts';
import { countedYes, demandTouch } from '../../../src/engine/run/approvers.ts';
import { partyOf } from '../../../src/faces/http/passkeys.ts';
import { planView } from '../../../src/faces/report/plan-view.ts';
import { Authenticator } from '../../support/authenticator.ts';
import { countingIds } from '../../support/engine-on-platform.ts';
import { addRun, decision, plan as planOf } from '../../support/filled-store.ts';
import type { Visitor } from '../../support/identity-provider.ts';
import { textOf } from '../../support/pages.ts';
import { planned } from '../../support/plan-pages.ts';
import { RULE } from '../../support/rule-samples.ts';
import { openSigningIn } from '../../support/signing-in.ts';

const ORIGIN = 'http://localhost:8080';
const MINUTE = 60_000;

type On = Awaited<ReturnType<typeof open>>;

/** Approving is the engine's, over the store of the endpoint. */
async function open(file?: string) {
  let approvals: Approvals | undefined;
  const guards = () => ({ ask: [], lastDevice: false, perDay: undefined, files: [], approvals }) as never;
  const rules = (): Rule[] => [{ ...RULE, id: 'ban-compromised-device', guards: guards() }];
  const ids = countingIds();
  const on = await openSigningIn(
    { base: ORIGIN, ...(file !== undefined && { file }) },
    {
      rules,
      publicUrl: ORIGIN,
      operations: {
        approvePlan: async ({ id, breakGlass, rules: of, only, except, keys, digest, ...said }, who) => {
          const { store, clock } = on;
          const engine = { store, clock, ids, settings: {}, active: () => ({ rules: rules() }) };
          const part = { rules: of, only, except, keys, digest };
          const { plan, rest, missed } = await approvePart(engine, id, part, { ...said, ...who }, breakGlass);
          return { ...planView(plan), applied: null, rest: rest ? planView(rest) : null, missed };
        },
        // As far as the engine's is about touches.
        applyPlan: async ({ id, breakGlass }, who) => {
          const { store, clock } = on;
          const plan = (await store.plan(id)) as Plan;
          const engine = { store, active: () => ({ rules: rules() }) };
          if (breakGlass) await demandTouch(engine, who, 'apply', { of: id, digest: plan.digest }, clock.nowMs());
          return { ...planView(plan), applied: null };
        },
      },
    },
  );
  const account = on.provider.accounts.get('u-ben');
  if (account) account.groups = ['admins'];
  let count = 0;
  const newPlan = async (): Promise<Plan> => {
    count += 1;
    const intents = [planned(count * 10), planned(count * 10 + 1)];
    const plan = planOf(decision(), {
      ...{ id: `plan-${count}`, intents, digest: planDigest(intents), runId: `run-${count}` },
      ...{ createdAt: on.clock.nowMs(), expiresAt: on.clock.nowMs() + 60 * MINUTE },
    });
    await addRun(on.store, { id: `run-${count}`, mode: 'enforce', plan });
    await on.store.appendAudit([sealedNote(plan)]);
    return plan;
  };
  const demand = (asked: Approvals | undefined) => {
    approvals = asked;
  };
  return { ...on, newPlan, demand };
}

const asked = async (answer: Response) => JSON.parse(await answer.text());
const textIn = async (answer: Response) => textOf(await answer.text());

async function register(person: Visitor, key: Authenticator, name: string, other?: Authenticator): Promise<Response> {
  const made = key.register(await asked(await person.post('/passkeys/begin', { name })));
  const touch = other?.touch(await asked(await person.post('/passkeys/touch', { name, ...made })));
  return person.post('/passkeys', { name, ...made, ...(touch && { touch }) });
}

/** What the audit alone shows, of all entries or of changed ones. */
async function faultsOf(on: On, change: (entry: AuditEntry) => AuditEntry = (entry) => entry): Promise<string[]> {
  const walk = new TouchWalk();
  const faults: string[] = [];
  for await (const batch of on.store.auditFrom(1))
    for (const entry of batch) faults.push(...[walk.step(change(entry), true) ?? []].flat());
  return faults;
}

function answer(
  person: Visitor,
  verb: string,
  plan: Plan,
  more: Record<string, string> = {},
  keys = plan.intents.map(({ key }) => key),
) {
  const typed =
    keys.length === 1 ? (plan.intents.find(({ key }) => key === keys[0])?.target ?? '') : String(keys.length);
  const fields = Object.entries({ digest: plan.digest, typed, ...more });
  return person.post(`/plans/${plan.id}/${verb}`, [...fields, ...keys.map((key): [string, string] => ['target', key])]);
}

async function touched(
  person: Visitor,
  key: Authenticator,
  plan: Plan,
  more: Record<string, string> = {},
  keys?: string[],
) {
  return key.touch(await asked(await answer(person, 'touch/approve', plan, more, keys)));
}

it('is registered on a page and signs the yes to a plan, as the page and the audit say, and as the audit alone verifies', async () => {
  const on = await open();
  const ana = await on.signedIn('u-ana');
  const [first, second] = [new Authenticator(ORIGIN), new Authenticator(ORIGIN)];
  expect((await register(ana, first, 'Ana’s laptop')).status).toBe(303);
  expect((await register(ana, second, 'her phone', first)).status).toBe(303);
  expect(await textIn(await ana.open('/passkeys'))).toContain('Ana’s laptop');
  const plan = await on.newPlan();
  expect(await (await ana.open(`/plans/${plan.id}`)).text()).toContain(`data-touch="/plans/${plan.id}/touch/approve"`);
  const touch = await touched(ana, second, plan);
  const done = await answer(ana, 'approve', plan, { touch });
  expect([done.status, await textIn(await ana.open(`/plans/${plan.id}`))]).toEqual([
    303,
    expect.stringContaining('ana@example.com with a passkey'),
  ]);
  const [entry] = await on.audited('plan.approved');
  expect(entry).toMatchObject({ plan: plan.id, digest: plan.digest, touch: { ...JSON.parse(touch), kind: 'approve' } });
  expect(await textIn(await ana.open('/audit'))).toContain('approved the plan “Ban 2 devices” with a passkey');
  expect(await faultsOf(on)).toEqual([]);
});

/** One plan after the other, with a passkey of each person; a second one of Ana's, which she removed. */
async function world(file?: string) {
  const on = await open(file);
  const [ana, ben] = [await on.signedIn('u-ana'), await on.signedIn('u-ben')];
  const [anas, bens, lost] = [new Authenticator(ORIGIN), new Authenticator(ORIGIN), new Authenticator(ORIGIN)];
  await register(ana, anas, 'laptop');
  await register(ben, bens, 'phone');
  await register(ana, lost, 'lost', anas);
  const path = `/passkeys/${lost.id.toString('base64url')}`;
  const touch = anas.touch(await asked(await ana.post(`${path}/touch`)));
  expect((await ana.post(`${path}/remove`, { touch })).status).toBe(303);
  return { on, ana, ben, anas, bens, lost };
}

const changed = (touch: string, change: object) => JSON.stringify({ ...JSON.parse(touch), ...change });

type World = Awaited<ReturnType<typeof world>> & { plan: Plan; other: Plan };
/** Each brings something for `plan` that no passkey of Ana signed for it, and the words with which it is refused. */
const ATTACKS: Record<string, [does: (world: World) => Promise<Response>, words: RegExp]> = {
  'no touch at all': [({ ana, plan }) => answer(ana, 'approve', plan), /has a passkey, which this answer needs/],
  'of another origin': [lying({ origin: 'https://localhost.example.com' }), /made for another page/],
  'of another port': [lying({ origin: 'http://localhost:8081' }), /made for another page/],
  'of another host': [lying({ rpId: 'example.com' }), /made for another host/],
  'in a frame of another page': [lying({ crossOrigin: true }), /made for another page/],
  'without asking who is there': [lying({ flags: 1 }), /without asking who is there/],
  'without anybody there': [lying({ flags: 4 }), /without asking who is there/],
  'of a registration': [lying({ type: 'webauthn.create' }), /cannot be read/],
  'over a challenge of its own': [lying({ challenge: 'AAAA' }), /made for something else/],
  'over the digest alone': [
    async (world) => lying({ challenge: Buffer.from(world.plan.digest, 'hex').toString('base64url') })(world),
    /made for something else/,
  ],
  'signed by another key': [lying({ signer: new Authenticator(ORIGIN) }), /not signed with the key/],
  'of another person': [
    async ({ ana, bens, plan }) => answer(ana, 'approve', plan, { touch: await touched(ana, bens, plan) }),
    /none of ana@example.com, or was removed/,
  ],
  'that another person was asked for': [
    async ({ ana, ben, bens, plan }) => answer(ana, 'approve', plan, { touch: await touched(ben, bens, plan) }),
    /not asked for in this session/,
  ],
  'of a key that was removed': [
    async ({ ana, lost, plan }) => answer(ana, 'approve', plan, { touch: await touched(ana, lost, plan) }),
    /or was removed/,
  ],
  'of a key that was removed, for breaking the glass': [
    async ({ ben, lost, plan }) => {
      const glass = { breakGlass: 'yes', reason: 'an outbreak' };
      return answer(ben, 'approve', plan, { ...glass, touch: await touched(ben, lost, plan, glass) });
    },
    /or was removed/,
  ],
  'for another plan': [
    async ({ ana, anas, plan, other }) => answer(ana, 'approve', plan, { touch: await touched(ana, anas, other) }),
    /made for something else/,
  ],
  'for a part, sent for all': [
    async ({ ana, anas, plan }) => {
      const part = [plan.intents[0]?.key ?? ''];
      const { target = '' } = plan.intents[0] ?? {};
      return answer(ana, 'approve', plan, { touch: await touched(ana, anas, plan, { typed: target }, part) });
    },
    /made for something else/,
  ],
  'for all, sent for a part': [
    async ({ ana, anas, plan }) =>
      answer(ana, 'approve', plan, { touch: await touched(ana, anas, plan) }, [plan.intents[1]?.key ?? '']),
    /made for something else/,
  ],
  'for another part': [
    async ({ ana, anas, plan }) => {
      const [first = '', second = ''] = plan.intents.map(({ key }) => key);
      return answer(ana, 'approve', plan, { touch: await touched(ana, anas, plan, {}, [first]) }, [second]);
    },
    /made for something else/,
  ],
  'for a yes, sent to break the glass': [
    async ({ ben, bens, plan }) =>
      answer(ben, 'approve', plan, {
        ...{ breakGlass: 'yes', reason: 'an outbreak' },
        touch: await touched(ben, bens, plan),
      }),
    /made for something else/,
  ],
  'for a yes, called one to break the glass': [
    async ({ ben, bens, plan }) =>
      answer(ben, 'approve', plan, {
        ...{ breakGlass: 'yes', reason: 'an outbreak' },
        touch: changed(await touched(ben, bens, plan), { kind: 'glass' }),
      }),
    /made for something else/,
  ],
  'without one, to break the glass': [
    ({ ben, plan }) => answer(ben, 'approve', plan, { breakGlass: 'yes', reason: 'an outbreak' }),
    /has a passkey, which this answer needs/,
  ],
  'for removing a key': [
    async ({ ana, anas, plan }) => {
      const path = `/passkeys/${anas.id.toString('base64url')}/touch`;
      return answer(ana, 'approve', plan, { touch: anas.touch(await asked(await ana.post(path))) });
    },
    /made for something else/,
  ],
  'used twice': [
    async ({ ana, anas, plan, other }) => {
      const touch = await touched(ana, anas, plan);
      await answer(ana, 'approve', other, { touch });
      return answer(ana, 'approve', plan, { touch });
    },
    /used before/,
  ],
  'after ten minutes': [
    async ({ on, ana, anas, plan }) => {
      const touch = await touched(ana, anas, plan);
      on.clock.advance(10 * MINUTE);
      return answer(ana, 'approve', plan, { touch });
    },
    /older than ten minutes/,
  ],
  'in another session of hers': [
    async ({ on, ana, anas, plan }) =>
      answer(await on.signedIn('u-ana'), 'approve', plan, { touch: await touched(ana, anas, plan) }),
    /not asked for in this session/,
  ],
  'that nobody asked for': [
    async ({ ana, anas, plan }) => {
      const nonce = 'n'.repeat(42).concat('A');
      return answer(ana, 'approve', plan, {
        touch: anas.touch({ kind: 'approve', nonce, publicKey: { challenge: 'AA' } }),
      });
    },
    /not asked for in this session/,
  ],
  'whose counter goes back': [lying({ counter: 1 }), /may have been copied/],
  'whose counter stands still': [
    async (world) => {
      const { ana, anas, other } = world;
      expect((await answer(ana, 'approve', other, { touch: await touched(ana, anas, other) })).status).toBe(303);
      return lying({ counter: anas.counter })(world);
    },
    /may have been copied/,
  ],
  'that is no JSON': [({ ana, plan }) => answer(ana, 'approve', plan, { touch: '{' }), /cannot be read/],
  'of nothing': [({ ana, plan }) => answer(ana, 'approve', plan, { touch: 'null' }), /cannot be read/],
  'of a list': [({ ana, plan }) => answer(ana, 'approve', plan, { touch: '[[[]]]' }), /cannot be read/],
  'with rubbish for base64': [bent({ signature: '%%%%' }), /cannot be read/],
  'with another spelling of base64': [bent({ authenticatorData: 'AA==' }), /cannot be read/],
  'with an empty signature': [bent({ signature: '' }), /cannot be read/],
  'with short data': [bent({ authenticatorData: 'AAAA' }), /another host/],
  'with client data of its own': [bent({ clientDataJSON: Buffer.from('[]').toString('base64url') }), /cannot be read/],
  'with members of its own': [bent({ admin: true }), /cannot be read/],
  'of a megabyte': [
    ({ ana, plan }) => answer(ana, 'approve', plan, { touch: 'A'.repeat(1_000_000) }),
    /touch.*(too long|at most|characters)/,
  ],
};

function lying(lies: Parameters<Authenticator['touch']>[1]) {
  return async ({ ana, anas, plan }: World) => {
    const options = await asked(await answer(ana, 'touch/approve', plan));
    return answer(ana, 'approve', plan, { touch: anas.touch(options, lies) });
  };
}

function bent(change: object) {
  return async ({ ana, anas, plan }: World) =>
    answer(ana, 'approve', plan, { touch: changed(await touched(ana, anas, plan), change) });
}

/** The same for keys that are registered. */
const REGISTERING: Record<string, [does: (world: World) => Promise<Response>, words: RegExp]> = {
  'of another origin': [registering({ origin: 'https://example.com' }), /is none of/],
  'of another host': [registering({ rpId: 'example.com' }), /is none of/],
  'without asking who is there': [registering({ flags: 0x41 }), /is none of/],
  'over a challenge of its own': [registering({ challenge: 'AAAA' }), /is none of/],
  'of an answer': [registering({ type: 'webauthn.get' }), /is none of/],
  twice: [({ ana, anas }) => register(ana, anas, 'again', anas), /registered before/],
  'that another person has': [({ ana, anas, bens }) => register(ana, bens, 'mine', anas), /registered before/],
  'that was removed': [({ ana, anas, lost }) => register(ana, lost, 'found', anas), /removed before/],
  'without the one that she has': [({ ana }) => register(ana, new Authenticator(ORIGIN), 'a thief’s'), /has a passkey/],
  'with a touch for another key': [
    async ({ ana, anas }) => {
      const [mine, thiefs] = [new Authenticator(ORIGIN), new Authenticator(ORIGIN)];
      const made = mine.register(await asked(await ana.post('/passkeys/begin', { name: 'a' })));
      const touch = anas.touch(await asked(await ana.post('/passkeys/touch', { name: 'a', ...made })));
      const others = thiefs.register(await asked(await ana.post('/passkeys/begin', { name: 'a' })));
      return ana.post('/passkeys', { name: 'a', ...others, touch });
    },
    /made for something else/,
  ],
  'with what another person was asked': [
    async ({ ana, ben }) => {
      const made = new Authenticator(ORIGIN).register(await asked(await ben.post('/passkeys/begin', { name: 'a' })));
      return ana.post('/passkeys', { name: 'a', ...made });
    },
    /not asked for in this session/,
  ],
  'of rubbish': [
    ({ ana }) => ana.post('/passkeys', { name: 'a', nonce: 'a', response: '{"id":"%"}' }),
    /cannot be read/,
  ],
  'of nothing': [({ ana }) => ana.post('/passkeys', { name: 'a' }), /cannot be read/],
  'of a megabyte': [
    ({ ana }) => ana.post('/passkeys', { name: 'a', nonce: 'a', response: 'A'.repeat(1_000_000) }),
    /response.*(too long|at most|characters)/,
  ],
  'as the first one of a session that is older than ten minutes': [
    async ({ on }) => {
      on.provider.accounts.set('u-eve', { email: 'eve@example.com', email_verified: true, groups: ['security'] });
      const eve = await on.signedIn('u-eve');
      on.clock.advance(10 * MINUTE);
      expect((await eve.post('/passkeys/begin', { name: 'a' })).status).toBe(400);
      return eve.post('/passkeys', { name: 'a' });
    },
    /needs a sign-in of the last ten minutes/,
  ],
  'removed by another person who may approve': [
    ({ ana, bens }) => ana.post(`/passkeys/${bens.id.toString('base64url')}/remove`, { reason: 'mine now' }),
    /there is no such passkey/i,
  ],
  'removed without a touch': [
    ({ ana, anas }) => ana.post(`/passkeys/${anas.id.toString('base64url')}/remove`),
    /has a passkey/,
  ],
};

function registering(lies: Parameters<Authenticator['register']>[1]) {
  return async ({ ana, anas }: World) => {
    const key = new Authenticator(ORIGIN);
    const made = key.register(await asked(await ana.post('/passkeys/begin', { name: 'a' })), lies);
    const touch = anas.touch(await asked(await ana.post('/passkeys/touch', { name: 'a', ...made })));
    return ana.post('/passkeys', { name: 'a', ...made, touch });
  };
}

describe('an attack', { timeout: 60_000 }, () => {
  let on: Awaited<ReturnType<typeof world>>;
  const figures = { attacks: 0, refused: 0 };
  beforeAll(async () => {
    on = await world();
  }, 60_000);
  afterAll(async () => {
    process.stdout.write(`attacks on passkeys: ${figures.attacks}, refused: ${figures.refused}\n`);
    await on.on.provider.close();
  });

  it.each([
    ...Object.entries(ATTACKS).map(([what, attack]) => [`an answer ${what}`, ...attack] as const),
    ...Object.entries(REGISTERING).map(([what, attack]) => [`a key ${what}`, ...attack] as const),
  ])('with %s is refused, and nothing is done', async (_, does, words) => {
    figures.attacks += 1;
    const [plan, other] = [await on.on.newPlan(), await on.on.newPlan()];
    const before = (await on.on.store.passkeys()).filter(({ removedAt }) => removedAt === undefined).length;
    const refused = await does({ ...on, plan, other });
    expect([refused.status >= 400 && refused.status < 500, await textIn(refused)]).toEqual([
      true,
      expect.stringMatching(words),
    ]);
    expect((await on.on.store.plan(plan.id))?.status).toBe('pending');
    expect((await on.on.store.passkeys()).filter(({ removedAt }) => removedAt === undefined)).toHaveLength(before);
    figures.refused += 1;
  });
});

const TWO: Approvals = {
  approvals: [{ people: 2, groups: [], notSelf: true, touch: true, rules: [], actions: [], severities: [], from: 1 }],
  tokens: [],
};

describe('where approvals.yaml asks for a passkey', { timeout: 60_000 }, () => {
  it('a yes without one counts for nobody and says how to register; with two the plan is approved, a part and broken glass too', async () => {
    const { on, ana, ben, anas, bens } = await world();
    on.demand(TWO);
    const carl = { email: 'carl@example.com', email_verified: true, groups: ['security'] };
    on.provider.accounts.set('u-carl', carl);
    const other = await on.signedIn('u-carl');
    const plan = await on.newPlan();
    expect(await textIn(await other.open(`/plans/${plan.id}`))).toContain('You have none: register one first');
    const refused = await answer(other, 'approve', plan);
    expect([refused.status, await textIn(refused)]).toEqual([409, expect.stringMatching(/came without one: register/)]);
    await answer(ana, 'approve', plan, { touch: await touched(ana, anas, plan) });
    const half = await on.store.plan(plan.id);
    expect([half?.status, half?.agreed?.missing]).toEqual(['pending', 'one more yes with a passkey']);
    await answer(ben, 'approve', plan, { touch: await touched(ben, bens, plan) });
    expect((await on.store.plan(plan.id))?.status).toBe('approved');
    expect((await countedYes(on, plan)).given.map(({ touched: is }) => is)).toEqual([true, true]);
    on.demand(undefined);
    const [second, third] = [await on.newPlan(), await on.newPlan()];
    const part = [second.intents[0]?.key ?? ''];
    const partly = await answer(ana, 'approve', second, { touch: await touched(ana, anas, second, {}, part) }, part);
    expect([partly.status, (await on.store.plan(second.id))?.intents.length]).toEqual([303, 1]);
    on.demand(TWO);
    const glass = { breakGlass: 'yes', reason: 'an outbreak' };
    const broken = await answer(ben, 'approve', third, { ...glass, touch: await touched(ben, bens, third, glass) });
    expect([broken.status, (await on.store.plan(third.id))?.breakGlass?.touched]).toEqual([303, true]);
    // The whole of an approved one is applied, and asks for a touch only to break the glass.
    expect(await asked(await answer(ben, 'touch/apply', plan))).toBeNull();
    const applied = async (touch: string) => (await answer(ben, 'apply', plan, { ...glass, touch })).status;
    expect(await applied(await touched(ben, bens, third, glass))).toBe(409);
    expect(await applied(bens.touch(await asked(await answer(ben, 'touch/apply', plan, glass))))).toBe(303);
    expect(await faultsOf(on)).toEqual([]);
    await on.provider.close();
  });

  it('a token that it names as a person’s answers nothing for whoever has a passkey', async () => {
    const { on } = await world();
    on.demand({ approvals: [], tokens: [{ token: 'approveer', email: 'Ana@example.com', groups: [] }] });
    const plan = await on.newPlan();
    const ask = () => on.ask('POST', `/api/plans/${plan.id}/approve`, { scope: 'approve', body: {} });
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('on the page of the plan')]);
    const brought = await on.ask('POST', `/api/plans/${plan.id}/approve`, { scope: 'approve', body: { touch: {} } });
    expect(brought.status).toBe(400);
    on.demand(undefined);
    expect((await ask()).status).toBe(200);
    await on.provider.close();
  });

  it('an edited table answers nothing, and edited entries are named by the audit alone', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'trustward-passkeys-')), 'trustward.db');
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    const { on, ana, anas } = await world(file);
    on.demand(TWO);
    const plan = await on.newPlan();
    await answer(ana, 'approve', plan, { touch: await touched(ana, anas, plan) });
    const edited = (kind: string, edit: (body: Record<string, never>) => object) =>
      faultsOf(on, (entry) =>
        entry.kind === kind ? { ...entry, bytes: JSON.stringify({ body: edit(entryBody(entry) as never) }) } : entry,
      );
    const agreed = (change: object) => edited('plan.agreed', (body) => ({ ...body, ...change }));
    const touch = (change: object) =>
      edited('plan.agreed', (body) => ({ ...body, touch: { ...(body.touch as unknown as object), ...change } }));
    expect(await agreed({ digest: 'e'.repeat(64) })).toEqual([expect.stringContaining('was made for something else')]);
    expect(await agreed({ plan: 'another' })).toEqual([expect.stringContaining('was made for something else')]);
    expect(await agreed({ by: 'ben@example.com (u-ben at https://id.example.com)' })).toEqual([
      expect.stringContaining('of a key of another person'),
    ]);
    expect(await touch({ kind: 'glass' })).toEqual([expect.stringContaining('was made for something else')]);
    expect(await touch({ signature: 'AAAA' })).toEqual([expect.stringContaining('is not signed with the key')]);
    expect(await touch({ passkey: 'AAAA' })).toEqual([expect.stringContaining('that nobody registered')]);
    const lost = (await on.store.passkeys()).find(({ name }) => name === 'lost')?.id;
    expect(await touch({ passkey: lost })).toEqual([expect.stringContaining('that was removed before')]);
    const elsewhere = await edited('passkey.added', (body) => ({ ...body, origin: 'https://example.com' }));
    expect(elsewhere).toContainEqual(expect.stringContaining('was made for another page'));
    expect((await countedYes(on, plan)).given).toMatchObject([{ touched: true }]);
    const beside = new Database(file);
    beside.prepare('UPDATE passkeys SET removed_at = 1').run();
    beside.close();
    await expect(countedYes(on, plan)).rejects.toMatchObject({ code: 'store_edited' });
    const refused = await answer(ana, 'approve', await on.newPlan());
    expect([refused.status >= 400, await textIn(refused)]).toEqual([true, expect.stringContaining('passkeys')]);
    await on.provider.close();
  });
});

it.each([
  [undefined, 'TRUSTWARD_PUBLIC_URL is not set'],
  ['http://127.0.0.1:8080', 'has an IP address'],
  ['http://trustward.example.com', 'does not begin with https'],
  ['http://[::1]:8080', 'has an IP address'],
])('there are none at %s, and it is said why', (publicUrl, words) => {
  expect(partyOf({ publicUrl })).toContain(words);
});
