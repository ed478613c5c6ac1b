// support: an endpoint of several organizations over real stores, each filled with runs, plans and what is in force. In: their ids. Out: the
// app, the tokens of each, and the bytes of their databases. The content of each names a secret word of its own.

import { SCOPES, type Scope } from '../../src/domain/endpoint-token.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { addToken, revokeToken } from '../../src/engine/operate/endpoint-tokens.ts';
import type { HttpDeps } from '../../src/faces/http/deps.ts';
import { createOrganizationsApp, type OrganizationsApp } from '../../src/faces/http/organizations/app.ts';
import type { OrganizationLine, OrganizationsParts } from '../../src/faces/http/organizations/opened.ts';
import { hashVerifier, SignedInMemory, TokenRegister, tokenHash } from '../../src/faces/http/sign-in.ts';
import { createOrganizationsPages } from '../../src/faces/web/pages/organizations.tsx';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { newSecret } from '../../src/runtime/system/ids.ts';
import type { SqlStore } from '../../src/store/sql-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { openEndpoint } from './endpoint.ts';
import { countingIds } from './engine-on-platform.ts';
import { addRun, decision, deviceSeen, fakeClock, intent, plan, START_MS } from './filled-store.ts';
import { bytesOf, freshDatabase } from './memory-database.ts';

export type Credential = Scope | 'revoked' | 'expired';

export interface TestOrganization {
  id: string;
  store: SqliteStore;
  /** What only its own people may read. */
  secret: string;
  tokens: Record<Credential, string>;
  register: TokenRegister;
  deps: HttpDeps;
  /** Its whole database. */
  bytes(): Buffer;
  opened: number;
  closed: number;
}

export interface Organizations extends OrganizationsApp {
  of(id: string): TestOrganization;
  clock: ReturnType<typeof fakeClock>;
  lines: OrganizationLine[];
  /** Tokens of all organizations. */
  provider: Record<Scope, string>;
  /** How often it was asked whose a token is. */
  asked: string[];
}

export const ORIGIN = 'http://127.0.0.1:8080';
const DAY_MS = 86_400_000;

export async function openOrganizations(
  ids: readonly string[],
  over: Partial<OrganizationsParts> = {},
): Promise<Organizations> {
  const clock = { ...fakeClock(), sleep: systemClock.sleep };
  const all = new Map<string, TestOrganization>();
  for (const id of ids) all.set(id, await filled(id, clock));
  const of = (id: string) => {
    const found = all.get(id);
    if (!found) throw new Error(`there is no organization \`${id}\` in this test`);
    return found;
  };
  const lines = ids.map((id): OrganizationLine => ({ id, name: `${id} Ltd.`, problem: undefined }));
  const provider = tokensOf('all') as Record<Scope, string>;
  const verifyProvider = hashVerifier(
    SCOPES.map((scope) => ({ name: scope, scope, hash: tokenHash(provider[scope]) })),
  );
  const asked: string[] = [];
  const signIns = new Map<string, SignedInMemory>();
  const parts: OrganizationsParts = {
    list: () => lines,
    open: async (id) => {
      const one = of(id);
      one.opened += 1;
      return {
        deps: one.deps,
        verifyHash: (hash) => one.register.verifyHash(hash),
        append: (notes) => one.store.appendAudit(notes),
        close: async () => {
          one.closed += 1;
        },
      };
    },
    organizationOf: async (hash) => {
      asked.push(hash);
      return [...all.values()].find(({ register }) => register.verifyHash(hash))?.id;
    },
    verifyProvider,
    signIns: (id = '*') => {
      const known = signIns.get(id) ?? new SignedInMemory(clock);
      signIns.set(id, known);
      return known;
    },
    isPersonLink: async () => false,
    peopleHost: undefined,
    readiness: async () => [{ name: 'database', ok: true, text: 'can be written' }],
    metrics: { contentType: 'text/plain', text: async () => 'up 1\n', answered: () => {}, streams: () => {} },
    secret: newSecret,
    clock,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    hosts: { listenHost: '127.0.0.1', allowed: [] },
    publicUrl: undefined,
    rateLimits: undefined,
    address: () => ORIGIN,
    ...over,
  };
  return { ...createOrganizationsApp(parts, createOrganizationsPages()), of, clock, lines, provider, asked };
}

/** With the form of the page for it. Returns the cookie, as a browser sends it back. */
export async function signIn(on: Organizations, path: string, token: string): Promise<string> {
  const answer = await on.app.request(`${path}/sign-in`, {
    method: 'POST',
    headers: {
      host: new URL(ORIGIN).host,
      origin: ORIGIN,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, to: '/' }).toString(),
  });
  if (answer.status !== 303) throw new Error(`signing in at \`${path}\` was answered with ${answer.status}`);
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] as string;
}

export function tokensOf(owner: string): Record<Credential, string> {
  const of = (what: string) => `${owner}-${what}-token-0123456789`;
  return {
    ...(Object.fromEntries(SCOPES.map((scope) => [scope, of(scope)])) as Record<Scope, string>),
    revoked: of('revoked'),
    expired: of('expired'),
  };
}

async function filled(id: string, clock: Organizations['clock']): Promise<TestOrganization> {
  const db = freshDatabase();
  const store = new SqliteStore(db, linkEntry, clock);
  const secret = `secret-of-${id}`;
  await fill(store, id, secret);
  const tokens = tokensOf(id);
  const configured = SCOPES.map((scope) => ({ name: `${scope}er`, scope, hash: tokenHash(tokens[scope]) }));
  const { deps } = openEndpoint({}, undefined, { store, clock });
  const register = new TokenRegister({ store: store.tokens(), configured, clock, log: deps.log });
  await addUseless(store, tokens);
  await register.load();
  return { id, store, secret, tokens, register, deps, bytes: () => bytesOf(db), opened: 0, closed: 0 };
}

/** Tokens that open nothing any longer. */
export async function addUseless(store: SqlStore, { revoked, expired }: Record<Credential, string>): Promise<void> {
  const make = { tokens: store.tokens(), clock: fakeClock(START_MS - 2 * DAY_MS), ids: countingIds() };
  await addToken({ ...make, secret: () => revoked }, { name: 'gone', scope: 'admin' }, 'ana');
  await revokeToken(make, 'gone', 'ana');
  await addToken({ ...make, secret: () => expired }, { name: 'late', scope: 'admin', expires: '1d' }, 'ana');
}

/** A run, a live ban in force, a plan that waits, an exemption: each with the id of its organization. */
export async function fill(store: SqlStore, id: string, secret: string): Promise<void> {
  const subject = { kind: 'device', id: `${id}-device` } as const;
  const of = { subject, subjectName: secret, target: `${id}-SERIAL` };
  const held = decision({ ...of, id: `${id}-held`, mode: 'approve', decision: 'hold', outcome: undefined });
  const acted = decision({
    ...{ ...of, id: `${id}-acted`, mode: 'enforce', cappedBy: undefined },
    ...{ outcome: undefined, intentId: `${id}-intent` },
  });
  const [basis] = intent().basis;
  const done = intent({
    ...{ id: `${id}-intent`, runId: `${id}-run`, target: of.target },
    basis: basis ? [{ ...basis, decisionId: `${id}-acted`, episodeId: `${id}-episode`, subjectId: subject.id }] : [],
  });
  await addRun(store, { id: `${id}-dry`, decisions: [decision({ ...of, id: `${id}-decision` })] });
  await addRun(store, {
    ...{ id: `${id}-run`, mode: 'enforce', decisions: [acted, held], intents: [done] },
    plan: plan(held, { id: `${id}-plan`, runId: `${id}-run` }),
    identities: [
      {
        kind: 'device',
        changed: [deviceSeen(subject.id, { name: secret, serial: of.target })],
        had: undefined,
        readAt: 1,
      },
    ],
  });
  const change = { intentId: done.id, notes: [] };
  await store.markSent({ ...change, run: `${id}-run` });
  await store.settle({ ...change, outcome: 'succeeded', note: secret });
}
