// support: all that a store shows, asked by every reading method with what the store itself names. In: a store. Out: one value, which two
// stores of the same history have in common.
import { REQUEST_STATUSES } from '../../src/domain/exemption-request.ts';
import { SOURCES } from '../../src/domain/subjects.ts';
import { readInbox } from '../../src/faces/report/inbox.ts';
import type { SqlStore } from '../../src/store/sql-store.ts';
import { PRINT_KEY, sortedPrints } from './print-key.ts';

/** Pages are this long, so that lists have several. */
const PAGE = 3;
const MANY = 1_000;

type Found = Record<string, unknown>;

export async function everythingRead(store: SqlStore, nowMs: number): Promise<Found> {
  return {
    ...(await commands(store, nowMs)),
    ...(await runsOf(store)),
    ...(await decisionsOf(store, nowMs)),
    ...(await actingOf(store, nowMs)),
    ...(await plansOf(store)),
    ...(await auditOf(store, nowMs)),
    ...(await eventsOf(store)),
    ...(await namesOf(store)),
  };
}

async function commands(store: SqlStore, nowMs: number): Promise<Found> {
  const exemptions = await store.exemptions();
  return {
    address: await store.address(),
    databaseId: await store.databaseId(),
    stop: await store.stop(),
    exemptions,
    exemptionsInForce: await store.exemptions(nowMs),
    exemptionPages: await pagesOf((before) => store.exemptionPage({ before, limit: PAGE })),
    exemptionsOver: await store.exemptionPage({ overAt: nowMs, limit: PAGE }),
    exemption: await each(exemptions, ({ id }) => store.exemption(id.slice(0, 6)).catch(said)),
    requests: await pagesOf((before) => store.exemptionRequests({ before, limit: PAGE })),
    requestsBy: await each(REQUEST_STATUSES, (status) => store.exemptionRequests({ status, limit: PAGE })),
    requestsOf: await store.exemptionRequests({ person: 'ADA@x.org', limit: MANY }),
    request: await each(['rq1', 'rq', ''], (id) => store.exemptionRequest(id).catch(said)),
    acceptances: await store.acceptances(),
    tokens: await store.endpointTokens(),
    tokenPages: await pagesOf((before) => store.tokenPage({ before, limit: PAGE })),
    tokensInUse: sortedById(await store.tokens().inUse()),
    clockAgreement: await store.clockAgreement(),
    latency: await store.keptLatency(),
    printKey: await store.printKey(),
    baselines: await each(SOURCES, (source) => store.baseline(source)),
    figures: await store.figures(),
    lastFindings: await store.lastFindings().catch(said),
    lastCompletedAt: await store.lastCompletedAt(),
    differences: await store.tableDifferences(),
    notifications: await store.notifications({ statuses: ['waiting', 'delivered', 'given_up'] }, MANY),
    waiting: await store.notifications({ statuses: ['waiting'] }, MANY),
    due: await store.outbox().due(nowMs, MANY),
    nextDueAt: await store.outbox().nextDueAt(),
    notices: await store.notices({}, MANY),
    noticesDueAt: await store.noticeBox().nextDueAt(),
  };
}

async function runsOf(store: SqlStore): Promise<Found> {
  const runs = await store.runs(MANY);
  return {
    runs,
    latestRun: await store.latestRun(),
    lastWholeRun: await store.lastWholeRun(),
    runsBefore: await store.runs(PAGE, (runs[0]?.seq ?? 0) - 1),
    runsOverLists: await store.runsOverLists(PAGE),
    runLines: await store.runLines({ limit: MANY }),
    runLinesFiltered: await store.runLines({ limit: PAGE, status: 'completed', whole: true, overLists: true }),
    tallies: await store.ruleTallies([0, MANY], PAGE),
    wholeRuns: await store.wholeRunsSince(0),
    numbers: await store.runNumbers((await store.runs(PAGE)).map(({ id }) => id)),
    matches: await store.matchesOfRuns(MANY, MANY),
    ended: await store.decisionsEnded({ fromSeq: 0, toSeq: MANY }),
    ofRun: await each(runs, async (run) => ({
      found: await store.run(run.id),
      byNumber: (await store.run(String(run.seq)))?.id,
      counts: await store.countsOfRun(run),
      decisions: await store.decisionsOfRun(run),
      outlines: await store.outlinesOfRun(run),
      compared: await store.comparedRun(run),
      failures: await store.failuresOfRun(run.id),
      attempts: inAnyOrder([...(await store.attemptsOfRun(run.id))]),
      counted: inAnyOrder(await store.countedSince(run.seq, ['already_so', 'rule_matches', 'stopped'])),
      newMatches: await store.newMatchesSince(run.seq - 1, 0),
      ended: await store.decisionsEnded({ fromSeq: run.seq - 1, toSeq: run.seq }),
      byRule: await each(run.rules, (rule) => store.decisionsOfRule(run, rule, { limit: PAGE })),
    })),
  };
}

async function decisionsOf(store: SqlStore, nowMs: number): Promise<Found> {
  const decisions = await store.decisions({ limit: MANY });
  const ended = await store.decisionsEnded({ fromSeq: 0, toSeq: MANY });
  const [some] = decisions;
  return {
    decisions,
    pages: await each(decisions, ({ id }) => store.decisions({ limit: PAGE, before: id })),
    held: await store.decisions({ limit: PAGE, decision: 'hold' }),
    byTarget: await each(targetsOf(decisions), async (target) => [
      await store.decisions({ limit: MANY, target }),
      sortedById(await store.decisionsOn(target)),
    ]),
    byRule: some && (await store.decisions({ limit: PAGE, rule: some.rule, since: nowMs - 3_600_000 })),
    bySubject: some && (await store.decisions({ limit: PAGE, subjectId: some.subject.id, action: some.action })),
    byOwner: await store.decisions({ limit: PAGE, owner: 'ana@example.org' }),
    inForceIn: some && (await store.decisions({ limit: MANY, inForceIn: some.runSeq })),
    byId: await store.decisionsById(decisions.map(({ id }) => id)),
    endedDecisions: await store.endedDecisions(ended.map(({ id }) => id)),
    heldSince: await store.heldSince(nowMs - 3_600_000, PAGE),
    heldInForce: await each(['stopped', 'frozen', 'over_limit'] as const, (reason) =>
      store.heldInForce(reason as never),
    ),
  };
}

async function actingOf(store: SqlStore, nowMs: number): Promise<Found> {
  const intents = await store.intents({});
  const claims = await store.claims({});
  const open = await store.openState(nowMs);
  const targets = [...new Set(intents.map(({ target }) => target))].sort();
  return {
    intents,
    claims,
    open: {
      ...open,
      intents: sortedById(open.intents),
      claims: sortedById(open.claims),
      episodes: sortedById(open.episodes),
      decisions: sortedById(open.decisions),
      lastAttempts: inAnyOrder([...open.lastAttempts]),
      attempts24h: inAnyOrder([...open.attempts24h]),
      rejected: inAnyOrder([...open.rejected]),
    },
    intentById: await each(intents, ({ id }) => store.intent(id)),
    sentAfter: await each(intents, (intent) => store.sentAfter(intent)),
    openFailures: await store.openFailures(),
    workNow: await store.workNow(nowMs),
    doneInSteps: await store.doneInSteps({ untilMs: nowMs, steps: 48, stepMs: 3_600_000 }),
    doneForRule: await store.doneInSteps({
      untilMs: nowMs,
      steps: 48,
      stepMs: 3_600_000,
      rule: 'ban-compromised-device',
    }),
    inForceSince: await each([0, nowMs - 3_600_000], (fromMs) => store.inForceSince(fromMs)),
    inbox: await readInbox(store, { limit: MANY }),
    newestIntents: await pagesOf((before) => store.newestIntents({ before }, PAGE)),
    settled: await store.newestIntents({ status: 'settled' }, PAGE),
    newestClaims: await store.newestClaims({ status: 'standing' }, PAGE),
    claimsInForce: await store.claimsInForce({ limit: PAGE }),
    claimCounts: await store.claimCounts(),
    byTarget: await each(targets, async (target) => ({
      claims: await store.openClaimsOn(target),
      intents: await store.intentsOn(target),
      saw: await store.episodesThatSaw(target),
    })),
    inState: await each(['planned', 'sent', 'unknown'] as const, (state) => store.intentsIn(state)),
    attempts: await store.attemptsSince('ban_device', nowMs - 3_600_000),
    episodes: await store.episodes(open.episodes.map(({ id }) => id)),
    inForce: await store.episodesInForce(open.episodes.map(({ id }) => id)),
  };
}

async function plansOf(store: SqlStore): Promise<Found> {
  const plans = await store.plans({}, MANY);
  const ids = plans.map(({ id }) => id);
  return {
    plans,
    lines: await store.planLines({}, { limit: MANY }),
    pending: await store.plans({ status: 'pending' }, PAGE),
    expired: await store.planLines({ status: 'expired' }, { limit: PAGE }),
    naming: await each(plans, ({ intents }) => store.plans({ naming: [intents[0]?.target ?? 'nothing'] }, PAGE)),
    ofPlan: await each(ids, async (id) => {
      const outline = await store.planOutline(id);
      return {
        outline,
        counts: await store.countsOfPlan(id),
        progress: outline && (await store.planProgress(outline)),
        before: (await store.plans({ before: id }, PAGE)).map((plan) => plan.id),
        digests: await each(['plan.sealed', 'plan.approved'] as const, (kind) => store.auditedDigest(kind, id)),
      };
    }),
  };
}

async function auditOf(store: SqlStore, nowMs: number): Promise<Found> {
  const entries = await gathered(store.auditFrom(1));
  return {
    entries,
    head: await store.auditHead(),
    newest: await store.audit({ limit: PAGE }),
    after: await store.audit({ limit: PAGE, afterSeq: 2 }),
    before: await store.audit({ limit: PAGE, beforeSeq: 5 }),
    kinds: await each(['run.begun', 'intent.sent', 'plan.approved'], (kind) =>
      store.audit({ limit: PAGE, kind } as never),
    ),
    actors: await store.audit({ limit: MANY, hasActor: true } as never),
    byActor: await store.audit({ limit: MANY, actor: 'a person' } as never),
    byTarget: await store.audit({ limit: MANY, target: 'S-d1' } as never),
    since: await store.audit({ limit: MANY, since: nowMs - 60_000 } as never),
    checkpoints: await store.checkpointLines(),
    checkpointsAfter: await store.checkpointLinesAfter(3),
    checkpointAt: await store.checkpointAt(1),
  };
}

async function eventsOf(store: SqlStore): Promise<Found> {
  return {
    events: await gathered(store.events(0)),
    coverage: await store.coverage(),
    use: [...((await store.serviceUse())?.services ?? [])].sort(),
    times: [...(await store.eventTimes(0))].sort(),
    between: await gathered(store.eventsBetween(0, MANY)),
  };
}

async function namesOf(store: SqlStore): Promise<Found> {
  const texts = ['d1', 'S-d2', 'd3', 'ana@example.org', 'nobody', 'name \0 d1'];
  return {
    named: await each(texts, (text) => store.identitiesNamed(text)),
    identities: await store.identitiesOf(texts),
    like: await each(['na', 'ana', ' '], (text) => store.identitiesLike(text, ['device', 'user'])),
    selected: await each(texts, (text) => store.identitiesSelected('SerialNumber', text)),
    prints: await each(['device', 'user', 'service'] as const, async (kind) =>
      sortedPrints(await store.presentPrints(kind, PRINT_KEY)),
    ),
  };
}

async function each<T, Read>(all: readonly T[], read: (one: T) => Promise<Read>): Promise<Read[]> {
  const found: Read[] = [];
  for (const one of all) found.push(await read(one));
  return found;
}

/** All pages, one after another. */
async function pagesOf<T extends { id: string }>(
  read: (before: string | undefined) => Promise<{ rows: T[]; total: number }>,
): Promise<unknown[]> {
  const pages: unknown[] = [];
  for (let before: string | undefined; ; ) {
    const page = await read(before);
    pages.push(page);
    if (page.rows.length < PAGE) return pages;
    before = page.rows.at(-1)?.id;
  }
}

async function gathered<T>(batches: AsyncIterable<T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

/** Where the port promises no order. */
function sortedById<T extends { id: string }>(all: readonly T[]): T[] {
  return [...all].sort((one, other) => (one.id < other.id ? -1 : 1));
}

function inAnyOrder(all: readonly unknown[]): string[] {
  return all.map((one) => JSON.stringify(one)).sort();
}

function targetsOf(all: readonly { target: string }[]): string[] {
  return [...new Set(all.map(({ target }) => target))].sort();
}

function said(error: unknown): string {
  return String(error);
}
