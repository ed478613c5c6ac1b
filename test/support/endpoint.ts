// support: an endpoint over a real store, with tokens of every scope, and ports that record their calls.

import type { Asking } from '../../src/contract/operation.ts';
import type { OperationId, Output, Parsed, Performer } from '../../src/contract/table.ts';
import { groupsOf } from '../../src/domain/approvals.ts';
import { sqliteDatabase } from '../../src/domain/database.ts';
import { hashOfToken, SCOPES, type Scope } from '../../src/domain/endpoint-token.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Clock, Ids, Log } from '../../src/domain/ports.ts';
import type { RunRequest } from '../../src/domain/run.ts';
import type { ExplainedSubject, WhyAnswer } from '../../src/domain/why.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { decidePlan } from '../../src/engine/approve/plans.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { addExemption } from '../../src/engine/operate/commands.ts';
import { addPasskey, removePasskey } from '../../src/engine/operate/passkeys.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { createHttpApp } from '../../src/faces/http/app.ts';
import type { HttpDeps } from '../../src/faces/http/deps.ts';
import type { ProviderSettings } from '../../src/faces/http/provider.ts';
import type { Pages } from '../../src/faces/http/route.ts';
import { hashVerifier, personsOf, SignedInMemory, SignIn, tokenHash } from '../../src/faces/http/sign-in.ts';
import { views } from '../../src/faces/report/index.ts';
import { peopleOf } from '../../src/runtime/compose/people.ts';
import { type Offering, performerOf } from '../../src/runtime/operations/performer.ts';
import { planShown, type Reading } from '../../src/runtime/operations/reading.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { newSecret } from '../../src/runtime/system/ids.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { countingIds } from './engine-on-platform.ts';
import { addRun, fakeClock, openStore } from './filled-store.ts';
import { DRIFTED, RULE, RULE_REPORT, RULE_TEXT, TRIED } from './rule-samples.ts';

export const TOKENS: Record<Scope, string> = {
  signals: 'signals-token-0123456789',
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

/** In place of what the engine would do. */
export type Doubles = { readonly [Id in OperationId]?: Double<Id> };
type Double<Id extends OperationId> = (input: Parsed<Id>, asking: Asking) => Promise<Output<Id>>;

/** Ports in place of the usual ones. */
export interface Over extends Partial<HttpDeps>, Partial<Pick<Offering, 'trigger' | 'operating'>> {
  operations?: Doubles;
}

interface EndpointParts {
  /** Where persons sign in. */
  provider?: ProviderSettings;
  hasLinks?: boolean;
  store?: SqliteStore;
  clock?: Endpoint['clock'];
}

export function openEndpoint(
  { trigger: triggers, operating, operations = {}, ...over }: Over = {},
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
  const known = SCOPES.map((scope) => ({ name: `${scope}er`, scope, hash: tokenHash(TOKENS[scope]) }));
  const verifyHash = (hash: string) => hashVerifier(known)(hash);
  const at = { url: 'http://127.0.0.1:8080' };
  const { publicUrl } = over;
  const log: Log = { debug: () => {}, info: () => {}, warn: complain, error: complain };
  const common = { store: new SignedInMemory(clock), secret: newSecret, clock, address: () => at.url, publicUrl };
  const signIn = new SignIn({
    ...{ ...common, verifyHash, hasLinks: parts.hasLinks ?? true, append: (notes) => store.appendAudit(notes) },
    persons: personsOf({ ...common, provider: parts.provider, log, named: () => groupsOf(deps.rules()) }),
  });
  const trigger: Offering['trigger'] = async (request) => {
    requests.push(request);
    const unknown = request.rules?.find((id) => id !== RULE.id);
    if (unknown !== undefined) throw new AppError('usage', `there is no active rule \`${unknown}\``);
    const run = await addRun(store, { id: `http${requests.length}`, mode: request.mode });
    return { run, finished: Promise.resolve(run) };
  };
  const active = () => ({ rules: deps.rules() });
  const deps: HttpDeps = {
    performer: { perform: (id, input, asking) => performing(id, input, asking) },
    reader: store,
    passkeys: {
      all: () => store.passkeys(),
      add: (fresh, who) => addPasskey({ store, clock, active }, fresh, who),
      remove: (id, who, ofOthers) => removePasskey({ store, clock, active }, id, who, ofOthers),
    },
    views,
    isDaemon: true,
    readiness: async () => [{ name: 'database', ok: true, text: 'can be written' }],
    planDrift: async (id, targets) => {
      const { intents } = await planOf(store, id);
      const chosen = intents.filter(({ target }) => targets.includes(target));
      return chosen.map(({ key, action, target }) => ({ key, action, target, ...DRIFTED }));
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
    log,
    demo: false,
    ...over,
  };
  const reading: Reading = { reader: store, clock: deps.clock, rules: () => deps.rules() };
  const own: Doubles = { ...doublesOf(store, reading, countingIds()), ...operations };
  const performer = performerOf({
    ...reading,
    ...deps,
    trigger: triggers ?? trigger,
    operating: operating ?? { store, clock: deps.clock, active: () => ({ rules: [] }) },
    tokens: store.tokens(),
    linking: () => peopleOf({ store, clock: deps.clock, database: sqliteDatabase(':memory:'), base: deps.publicUrl }),
    engine: undefined as never,
    turns: { operate: () => Promise.reject(new AppError('conflict', 'no engine is here')) },
  });
  const performing: Performer['perform'] = (id, input, asking) => {
    const double = own[id] as unknown as Double<typeof id> | undefined;
    return double ? double(input, asking) : performer.perform(id, input, asking);
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

/** What needs an engine, done by the store alone. */
function doublesOf(store: SqliteStore, reading: Reading, ids: Ids): Doubles {
  const { clock } = reading;
  const decided = async (id: string, answer: 'approved' | 'rejected', by: string, reason: string | undefined) => {
    const plan = decidePlan(await planOf(store, id), answer, { by, reason }, clock.nowMs());
    await store.changePlan(plan, [], []);
    return { ...(await planShown(reading, plan)), applied: null, rest: null, missed: [] };
  };
  return {
    approvePlan: ({ id, reason }, { by }) => decided(id, 'approved', by, reason),
    rejectPlan: ({ id, reason }, { by }) => decided(id, 'rejected', by, reason),
    applyPlan: async ({ id }) => {
      const plan = await planOf(store, id);
      if (plan.status !== 'approved') throw new AppError('conflict', `plan ${plan.id} is ${plan.status}`);
      const shown = await planShown(reading, { ...plan, status: 'applied' });
      return { ...shown, applied: { intents: [], refused: [] } };
    },
    addExemption: async (request, { by }) => {
      const exemption = await addExemption({ store, clock: clock as Clock, ids }, request, by);
      return { ...views.exemption(exemption, clock.nowMs()), covers: null, released: [] };
    },
    resolveIntent: async ({ id, as, reason }, { by }) => {
      const parts = { store, clock: clock as Clock, ids: countingIds(), actions: ACTIONS };
      return views.intent(await resolveIntent(parts, id, as, { by, reason }));
    },
    releaseClaims: async ({ target, rule }) => {
      if (target !== undefined) throw new AppError('not_found', `no claim on \`${target}\` is open`);
      throw new AppError('not_found', `rule \`${rule}\` has nothing in force`);
    },
  };
}

async function planOf(store: SqliteStore, id: string) {
  const plan = await store.plan(id);
  if (!plan) throw new AppError('not_found', `there is no plan \`${id}\``);
  return plan;
}
