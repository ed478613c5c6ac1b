// The ports of the endpoint that a composition fills in, whoever makes its runs: what is read, explained and commanded. In: a composition, the
// ports to who works. Out: the endpoint's ports, but for who may ask.

import { existsSync } from 'node:fs';
import { groupsOf } from '../../domain/approvals.ts';
import { AppError } from '../../domain/errors.ts';
import type { Progress, ReplayKeeper } from '../../domain/replay.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import type { RuleTestReport } from '../../domain/verdict.ts';
import { explainSubject } from '../../engine/explain/judge-subject.ts';
import { timelineOf } from '../../engine/explain/timeline.ts';
import { historyOfSubject, whyOf, whyStored } from '../../engine/explain/why.ts';
import { whyAt } from '../../engine/explain/why-at.ts';
import { addPasskey, removePasskey } from '../../engine/operate/passkeys.ts';
import { driftReader } from '../../engine/operate/plan-drift.ts';
import { changedRule, type TrialEngine, tryRule } from '../../engine/run/try-rule.ts';
import type { HttpDeps, StreamSource } from '../../faces/http/deps.ts';
import {
  type KnownToken,
  personsOf,
  SignedInMemory,
  SignIn,
  TokenRegister,
  tokenHash,
} from '../../faces/http/sign-in.ts';
import { views, writeReport } from '../../faces/report/index.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { testRuleInTurns } from '../../rules/rule-tests/run-tests.ts';
import { bindingOf, type Composition } from '../compose/compose.ts';
import { composeHistory, newestRunOf } from '../compose/history.ts';
import { peoplePort } from '../compose/people.ts';
import { type Offering, performerOf, readingOf } from '../operations/performer.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import { newSecret } from '../system/ids.ts';
import { replaysOf } from './own-process.ts';
import type { UnderWay } from './under-way.ts';

function pastPorts({ config, engine, clock }: Composition): Required<Pick<HttpDeps, 'whyAt' | 'timeline'>> {
  const isKept = () => existsSync(`${config.database.beside}.history`);
  const reader = engine.store;
  const history = composeHistory(config.database, bindingOf(config), () => newestRunOf(reader));
  return {
    whyAt: async (of, atMs) => {
      if (!isKept()) throw new AppError('not_found', 'there is no history: nothing was recorded of any earlier time');
      return whyAt({ history, reader, actions: engine.actions, clock }, of, atMs);
    },
    timeline: (subject, asked) =>
      timelineOf({ reader, history: isKept() ? history : undefined, clock }, subject, asked),
  };
}

// The daemon's part of the rules for the endpoint: one rule with its source text and what its own tests show, and what
// a changed text would match and do.

type RulePorts = Pick<HttpDeps, 'rules' | 'ruleRefusal' | 'ruleDetail' | 'tryRule'>;

export function rulePorts({ rules, engine }: Composition, queue: RunQueue, underWay: UnderWay): RulePorts {
  // By the loaded rule and not by its hash, which leaves out the tests.
  const reports = new WeakMap<LoadedRule, Promise<RuleTestReport>>();
  const reportOf = (rule: LoadedRule): Promise<RuleTestReport> => {
    const report = reports.get(rule) ?? testRuleInTurns(rule, { mutate: true });
    reports.set(rule, report);
    return report;
  };
  return {
    rules: () => rules.all(),
    ruleRefusal: () => rules.refusal,
    ruleDetail: async (id) => {
      const rule = rules.all().find((one) => one.id === id);
      rules.active(); // without rules it says why
      if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
      return { rule, text: rule.text, report: await reportOf(rule) };
    },
    tryRule: async (id, text, by) => {
      rules.active();
      // A mistake in the text is answered at once.
      const changed = changedRule(rules.all(), id, text, engine.actions, rules.namedLists());
      return queue.inTurn('request', by, () =>
        tryRule(trialEngine(engine, underWay.trying(id)), rules.all(), changed).finally(() => underWay.end()),
      );
    },
  };
}

/** INVARIANT: of the store it has only what reads. Its progress is not that of a run: none is under way. */
function trialEngine(engine: Composition['engine'], progress: Progress): TrialEngine {
  const {
    api,
    store,
    clock,
    steady,
    quiet,
    ids,
    log,
    printKey,
    actions,
    settings,
    signal,
    daemonMode,
    rulesDir,
    demo,
    lookBack,
    given,
  } = engine;
  const common = { api, clock, steady, quiet, ids, log, actions, settings, signal, daemonMode, rulesDir, demo };
  return { ...common, printKey, lookBack, given, progress, reader: store };
}

export interface WorkPorts
  extends Pick<HttpDeps, 'isDaemon' | 'readiness' | 'nextRunAtMs' | 'metrics'>,
    Pick<StreamSource, 'onAudited' | 'ending'>,
    Pick<Offering, 'trigger' | 'turns' | 'shownRun'> {
  /** Tokens that may call the endpoint: they are read again when some changed. */
  register: TokenRegister;
  /** Rules are tried in this queue. */
  trials: RunQueue;
  underWay: UnderWay;
  /** Absent: replays are of this process. */
  replayKeeper?: ReplayKeeper;
}

type ComposedDeps = Omit<HttpDeps, 'verifyToken' | 'signIn' | 'rates' | 'rateLimits'>;

export function composedDeps(composition: Composition, work: WorkPorts): ComposedDeps {
  const { config, engine, log } = composition;
  const { store, clock } = engine;
  const { turns, trials, underWay, replayKeeper, onAudited, ending, register, trigger, shownRun, ...ports } = work;
  const { evidence } = readingOf(composition);
  const explaining = {
    replays: replaysOf(composition, replayKeeper),
    ...rulePorts(composition, trials, underWay),
    explain: async (rule: string, subject: string) => {
      engine.active(); // without rules it says why
      return explainSubject(composition.explaining(), rule, subject);
    },
    why: (of: string | SubjectRef) => whyOf(composition.explaining(), of),
    history: (subject: Parameters<HttpDeps['history']>[0], limit: number) =>
      historyOfSubject(composition.explaining(), subject, limit),
    ...pastPorts(composition),
    verifyAudit: (seen?: (seq: number) => void) => composition.verifyAudit(seen),
  };
  const performer = performerOf({
    ...readingOf(composition),
    ...{ log, engine, turns, trigger },
    ...{ operating: engine, linking: () => composition.people, tokens: composition.tokens },
    ...explaining,
    ...(shownRun && { shownRun }),
    alert: () => engine.afterwards?.(),
    tokensChanged: () => register.load(),
  });
  const shown = (run: RunRecord) => shownRun?.(run) ?? run;
  return {
    ...ports,
    ...explaining,
    performer,
    reader: store,
    views: {
      ...views,
      report: (reader, run, format) => writeReport(reader, shown(run), format, { actions: engine.actions, evidence }),
    },
    planDrift: driftReader(engine),
    running: () => underWay.now(),
    daemonMode: () => engine.daemonMode,
    whyStored: (of, unread) => whyStored(composition.explaining(), of, unread),
    evidence,
    stream: { onAudited, onProgress: (listener) => underWay.onProgress(listener), ending },
    answers: composition.answers,
    signalsOut: composition.notifications.signals,
    people: peoplePort(composition.people, { ...engine, store }, performer, config.mail.timeZone),
    passkeys: {
      all: () => store.passkeys(),
      add: (fresh, who) => addPasskey(engine, fresh, who),
      remove: (id, who, ofOthers) => removePasskey(engine, id, who, ofOthers),
    },
    publicUrl: config.notify.publicUrl,
    hosts: {
      listenHost: config.listen.host,
      allowed: ownNames(config.allowedHosts, config.notify.publicUrl, config.people.base),
    },
    changeWindows: config.windows.freeze,
    clock,
    log,
    demo: engine.demo,
  };
}

/** The links that people get name the public address: it must be served. */
export function ownNames(allowedHosts: readonly string[], ...urls: (string | undefined)[]): string[] {
  return [...allowedHosts, ...urls.flatMap((url) => (url === undefined ? [] : [new URL(url).hostname]))];
}

// The daemon's part of the endpoint's tokens: who may call it, and changes of that.

/** @param token the token of the configuration, of scope `admin`; undefined: it is not one of this organization. */
export async function tokenRegister(
  { tokens, clock, log, onToken }: Composition,
  token: string | undefined,
): Promise<TokenRegister> {
  const register = new TokenRegister({ store: tokens, configured: configured(token), clock, log });
  await register.load();
  onToken((changed) => register.configure(configured(changed)));
  return register;
}

export function configured(token: string | undefined): KnownToken[] {
  return token === undefined ? [] : [{ name: 'admin', scope: 'admin', hash: tokenHash(token) }];
}

/** @param address where the endpoint listens. */
export function signInOf(composition: Composition, register: TokenRegister, address: () => string): SignIn {
  const { config, clock, log, engine } = composition;
  const { provider, hasLinks, notify } = config;
  const named = () => groupsOf(composition.rules.all());
  const common = { store: new SignedInMemory(clock), secret: newSecret, clock, address, publicUrl: notify.publicUrl };
  return new SignIn({
    ...{ ...common, hasLinks, persons: personsOf({ ...common, provider, log, named }) },
    verifyHash: (hash) => register.verifyHash(hash),
    append: (notes) => engine.store.appendAudit(notes),
  });
}
