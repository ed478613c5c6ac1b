// support: an endpoint over a real store, with tokens of every scope, and ports that record their calls.

import { schemas } from '../../src/contract/answers.ts';
import { hashOfToken, SCOPES, type Scope } from '../../src/domain/endpoint-token.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { RunRequest } from '../../src/domain/run.ts';
import type { ExplainedSubject, WhyAnswer } from '../../src/domain/why.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { decidePlan } from '../../src/engine/approve/plans.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import {
  acceptSnapshot,
  addExemption,
  endExemption,
  resumeEverything,
  stopEverything,
} from '../../src/engine/operate/commands.ts';
import { addToken, revokeToken } from '../../src/engine/operate/endpoint-tokens.ts';
import { confirmJoined } from '../../src/engine/operate/exempt.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { createHttpApp } from '../../src/faces/http/app.ts';
import type { HttpDeps } from '../../src/faces/http/deps.ts';
import type { Pages } from '../../src/faces/http/route.ts';
import { hashVerifier, SignedInMemory, SignIn, tokenHash } from '../../src/faces/http/sign-in.ts';
import { views } from '../../src/faces/report/index.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { newSecret } from '../../src/runtime/system/ids.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { countingIds } from './engine-on-platform.ts';
import { addRun, fakeClock, openStore } from './filled-store.ts';
import { DRIFTED, RULE, RULE_REPORT, RULE_TEXT, TRIED } from './rule-samples.ts';

export const TOKENS: Record<Scope, string> = {
  read: 'read-token-0123456789',
  trigger: 'trigger-token-0123456789',
  approve: 'approve-token-0123456789',
  admin: 'admin-token-0123456789',
};

export interface Endpoint {
  deps: HttpDeps;
  app: ReturnType<typeof createHttpApp>;
  store: SqliteStore;
  clock: ReturnType<typeof fakeClock>;
  signIn: SignIn;
  /** The address that links and cookies name. */
  at: { url: string };
  /** Refuses the token of a scope from now on. */
  revoke(scope: Scope): void;
  /** The requests for runs. */
  requests: RunRequest[];
  /** The changed rules that were tried. */
  trials: { id: string; text: string; by: string }[];
  /** Log lines of level warn and error. */
  complaints: { fields: object; message: string }[];
  /** A request with a token of scope `admin` by default. */
  ask(method: string, path: string, options?: AskOptions): Promise<Response>;
}

export interface AskOptions {
  /** `none` sends no token. */
  scope?: Scope | 'none';
  body?: unknown;
  /** The raw body, when it must not be JSON. */
  text?: string;
  headers?: Record<string, string>;
}

interface EndpointParts {
  store?: SqliteStore;
  clock?: Endpoint['clock'];
}

export function openEndpoint(
  over: Partial<HttpDeps> = {},
  pagesOf?: (deps: HttpDeps) => Pages,
  parts: EndpointParts = {},
): Endpoint {
  // Waits are real, or a beat would follow the other without a pause.
  const clock = parts.clock ?? { ...fakeClock(), sleep: systemClock.sleep };
  const store = parts.store ?? openStore(clock);
  const requests: RunRequest[] = [];
  const trials: Endpoint['trials'] = [];
  const complaints: Endpoint['complaints'] = [];
  const complain = (fields: object, message: string) => complaints.push({ fields, message });
  const ids = countingIds();
  const tokenParts = { tokens: store.tokens(), clock, ids };
  const known = SCOPES.map((scope) => ({ name: `${scope}er`, scope, hash: tokenHash(TOKENS[scope]) }));
  const verifyHash = (hash: string) => hashVerifier(known)(hash);
  const at = { url: 'http://127.0.0.1:8080' };
  const { publicUrl } = over;
  const signIns = new SignedInMemory(clock);
  const signIn = new SignIn({ store: signIns, verifyHash, secret: newSecret, clock, address: () => at.url, publicUrl });
  const deps: HttpDeps = {
    reader: store,
    views,
    schemas,
    isDaemon: true,
    trigger: async (request) => {
      requests.push(request);
      const unknown = request.rules?.find((id) => id !== RULE.id);
      if (unknown !== undefined) throw new AppError('usage', `there is no active rule \`${unknown}\``);
      const run = await addRun(store, { id: `http${requests.length}`, mode: request.mode });
      return { run, finished: Promise.resolve(run) };
    },
    readiness: async () => [{ name: 'database', ok: true, text: 'can be written' }],
    plans: {
      approve: (id, by, reason) => decide(store, id, 'approved', by, reason, clock.nowMs()),
      reject: (id, by, reason) => decide(store, id, 'rejected', by, reason, clock.nowMs()),
      apply: async (id) => {
        const plan = await planOf(store, id);
        if (plan.status !== 'approved') throw new AppError('conflict', `plan ${plan.id} is ${plan.status}`);
        return { plan: { ...plan, status: 'applied' }, applied: { intents: [], refused: [] } };
      },
    },
    planDrift: async (id, targets) => {
      const { intents } = await planOf(store, id);
      const chosen = intents.filter(({ target }) => targets.includes(target));
      return chosen.map(({ key, action, target }) => ({ key, action, target, ...DRIFTED }));
    },
    operator: {
      stop: (operator) => stopEverything({ store, clock }, operator),
      resume: (operator) => resumeEverything({ store, clock }, operator),
      exempt: async (request, by) => ({
        exemption: await addExemption({ store, clock, ids }, request, by),
        covers: undefined,
        released: [],
      }),
      endExemption: (id, operator) => endExemption({ store, clock }, id, operator),
      confirmJoined: (id, operator) => confirmJoined({ store, clock }, id, operator),
      accept: (source, operator) => acceptSnapshot({ store, clock }, source, operator),
      resolve: (id, as, operator) =>
        resolveIntent({ store, clock, ids: countingIds(), actions: ACTIONS }, id, as, operator),
      release: async (target) => {
        throw new AppError('not_found', `no claim on \`${target}\` is open`);
      },
      releaseRule: async (rule) => {
        throw new AppError('not_found', `rule \`${rule}\` has nothing in force`);
      },
    },
    tokens: {
      add: (request, by) => addToken({ ...tokenParts, secret: () => 'tw_made-0123456789' }, request, by),
      revoke: (name, by) => revokeToken(tokenParts, name, by),
    },
    answers: store.keptAnswers(),
    stream: {
      onAudited: (listener) => store.onAudited(listener),
      onProgress: () => {},
      ending: new AbortController().signal,
    },
    running: () => undefined,
    nextRunAtMs: () => undefined,
    daemonMode: () => 'enforce',
    rules: () => [RULE],
    ruleRefusal: () => undefined,
    tryRule: async (id, text, by) => {
      if (id !== RULE.id) throw new AppError('not_found', `there is no rule \`${id}\``);
      trials.push({ id, text, by });
      return TRIED;
    },
    ruleDetail: async (id) => {
      if (id !== RULE.id) throw new AppError('not_found', `there is no rule \`${id}\``);
      return { rule: RULE, text: RULE_TEXT, report: RULE_REPORT };
    },
    replays: { begin: async () => {}, current: async () => undefined },
    explain: async (rule, subject) =>
      ({ explanation: { rule, subject }, decisions: [] }) as unknown as ExplainedSubject,
    why: async (of) => ({ subject: { id: of } }) as unknown as WhyAnswer,
    whyStored: async (of) => ({ subject: of }) as unknown as WhyAnswer,
    history: async () => [],
    verifyAudit: async () => ({
      ...(await verifyChain(store.auditFrom(1))),
      ...{ first: 1, checkpoints: 0, sealed: 0, tables: [], notes: [] },
    }),
    metrics: { contentType: 'text/plain', text: async () => 'up 1\n', answered: () => {}, streams: () => {} },
    verifyToken: (token) => verifyHash(hashOfToken(token)),
    signIn,
    publicUrl,
    hosts: { listenHost: '127.0.0.1', allowed: [] },
    rateLimits: undefined,
    clock,
    log: { debug: () => {}, info: () => {}, warn: complain, error: complain },
    demo: false,
    ...over,
  };
  const app = createHttpApp(deps, pagesOf?.(deps));
  const revoke = (scope: Scope) =>
    void known.splice(
      known.findIndex((token) => token.scope === scope),
      1,
    );
  const ask: Endpoint['ask'] = async (method, path, { scope = 'admin', body, text, headers } = {}) => {
    const authorization: Record<string, string> = scope === 'none' ? {} : { authorization: `Bearer ${TOKENS[scope]}` };
    return app.request(path, {
      method,
      headers: { ...authorization, ...headers },
      ...(text !== undefined && { body: text }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  return { app, deps, store, clock, signIn, at, revoke, requests, trials, complaints, ask };
}

/** The body of an answer, of the shape that the test names. */
export async function bodyOf<T>(answer: Promise<Response>): Promise<T> {
  return (await (await answer).json()) as T;
}

async function planOf(store: SqliteStore, id: string) {
  const plan = await store.plan(id);
  if (!plan) throw new AppError('not_found', `there is no plan \`${id}\``);
  return plan;
}

async function decide(
  store: SqliteStore,
  id: string,
  answer: 'approved' | 'rejected',
  by: string,
  reason: string | undefined,
  nowMs: number,
) {
  const plan = decidePlan(await planOf(store, id), answer, by, reason, nowMs);
  await store.changePlan(plan, [], []);
  return { plan };
}
