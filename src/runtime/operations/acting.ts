// operations: those that change something, in this process. In: an engine, or the database alone, a parsed input, who asks. Out: the answer as the table
// describes it. INVARIANT: what calls something, or changes the basis of a run, has its turn among runs and other commands (`Turns`).

import { isoTime } from '../../base/time.ts';
import type { Asking } from '../../contract/operation.ts';
import type { Output, Parsed } from '../../contract/table.ts';
import type { TokenStore } from '../../domain/endpoint-token.ts';
import type { ExemptionRequest } from '../../domain/exemption-request.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Operator } from '../../domain/operator.ts';
import type { Plan } from '../../domain/plan.ts';
import { isLive } from '../../domain/rule.ts';
import type { Checked } from '../../domain/store.ts';
import type { RequestStore } from '../../domain/store-ports.ts';
import { checkAgain } from '../../engine/operate/check-again.ts';
import {
  acceptSnapshot,
  endExemption,
  type OperatorEngine,
  resumeEverything,
  stopEverything,
} from '../../engine/operate/commands.ts';
import { addToken, revokeToken } from '../../engine/operate/endpoint-tokens.ts';
import { confirmJoined, exempt } from '../../engine/operate/exempt.ts';
import { grantRequest, refuseRequest } from '../../engine/operate/exemption-requests.ts';
import { freezeOf, isHeldWhole } from '../../engine/operate/plan-drift.ts';
import { type AnsweredPart, type Applied, answerPart, applyPlan, approvePart } from '../../engine/operate/plans.ts';
import { planRelease, releaseTarget } from '../../engine/operate/release.ts';
import { resolveIntent } from '../../engine/operate/resolve-intent.ts';
import { restartRollout, resumeRollout, type SteeredRollout } from '../../engine/operate/rollout.ts';
import type { Approving } from '../../engine/run/approvers.ts';
import type { Engine } from '../../engine/run/engine.ts';
import { views } from '../../faces/report/index.ts';
import type { People } from '../compose/people.ts';
import { newToken, systemIds } from '../system/ids.ts';
import { type Handlers, planShown, type Reading } from './reading.ts';

/** Tokens of one organization, or of all. */
interface Keeping {
  operating: Pick<OperatorEngine, 'clock'>;
  tokens: TokenStore;
  /** Called when tokens changed, before the answer. */
  tokensChanged?(): Promise<void>;
}

/** What only the database is needed for. */
export interface Steering extends Keeping {
  operating: OperatorEngine & Pick<Approving, 'active'> & { store: RequestStore };
  /** Of links to persons' pages: most of what is steered needs none of it. */
  linking(): People | Promise<People>;
  /** Alerts people of what has changed now, and not at the end of a run; they may be sent to a webhook that hangs: nobody waits for it. */
  alert?: (() => Promise<void> | undefined) | undefined;
}

type TokensId = 'addToken' | 'revokeToken';
type RequestsId = 'grantRequest' | 'refuseRequest';
type LinksId = 'linkPerson' | 'revokePersonLinks';
type SteeringId =
  | 'stop'
  | 'resume'
  | 'acceptSnapshot'
  | 'endExemption'
  | 'confirmExemption'
  | RequestsId
  | LinksId
  | TokensId;

export const TOKENS: Handlers<Keeping, TokensId> = {
  addToken: async ({ operating: { clock }, tokens, tokensChanged }, request, { by }) => {
    const { token, text } = await addToken({ tokens, clock, ids: systemIds(clock), secret: newToken }, request, by);
    await tokensChanged?.();
    return { ...views.token(token, clock.nowMs()), token: text };
  },
  revokeToken: async ({ operating: { clock }, tokens, tokensChanged }, { name }, { by }) => {
    const revoked = await revokeToken({ tokens, clock }, name, by);
    await tokensChanged?.();
    return views.token(revoked, clock.nowMs());
  },
};

export const STEERING: Handlers<Steering, SteeringId> = {
  stop: async ({ operating, alert }, said, { by }) => {
    const stopped = views.stop(await stopEverything(operating, { ...said, by }));
    void alert?.();
    return { stopped };
  },
  resume: async ({ operating, alert }, said, { by }) => {
    const lifted = views.stop(await resumeEverything(operating, { ...said, by }));
    void alert?.();
    return { stopped: null, lifted };
  },
  acceptSnapshot: async ({ operating }, { source, ...said }, { by }) =>
    views.acceptance(await acceptSnapshot(operating, source, { ...said, by })),
  endExemption: async ({ operating }, { id, ...said }, { by }) =>
    views.exemption(await endExemption(operating, id, { ...said, by }), operating.clock.nowMs()),
  confirmExemption: async ({ operating }, { id, ...asked }, { by, groups }) => {
    const { exemption, confirmed } = await confirmJoined(operating, id, { ...asked, by, groups });
    return { ...views.exemption(exemption, operating.clock.nowMs()), confirmed };
  },
  grantRequest: ({ operating, alert }, { id, ...answer }, { by, groups }) =>
    answeredRequest(operating, alert, (engine) => grantRequest(engine, id, answer, by, groups)),
  refuseRequest: ({ operating, alert }, { id, ...answer }, { by, groups }) =>
    answeredRequest(operating, alert, (engine) => refuseRequest(engine, id, answer, by, groups)),
  linkPerson: async ({ linking }, { person }, { by }) => {
    const { makeLink } = await import('../../engine/operate/person-links.ts');
    const parts = await linking();
    const { url, episode } = await makeLink(parts, parts, person, by);
    return { person, url, rule: episode.rule, since: isoTime(episode.since) };
  },
  revokePersonLinks: async ({ linking }, { person, reason }, { by }) => {
    const { refuseLinks } = await import('../../engine/operate/person-links.ts');
    const { before, ...who } = await refuseLinks(await linking(), person, reason, by);
    return { ...who, before: isoTime(before) };
  },
  ...TOKENS,
};

async function answeredRequest(
  { store, clock, active }: Steering['operating'],
  alert: Steering['alert'],
  answer: (
    engine: Pick<Engine, 'clock' | 'ids'> & Pick<Approving, 'active'> & { store: RequestStore },
  ) => Promise<ExemptionRequest>,
): Promise<Output<'grantRequest'>> {
  const request = await answer({ store, clock, active, ids: systemIds(clock) });
  void alert?.();
  return views.request(store, request, clock.nowMs());
}

type Who = Pick<Asking, 'by' | 'groups' | 'touch'>;

/** What an operation that may call something is done with. */
export interface Acting {
  engine: Engine;
  /** A daemon applies what is approved at once; without one, that is a command of its own. */
  appliesAtOnce: boolean;
  /** Shows people what is under way. */
  underWay?: { beginPlan(id: string): void; end(): void };
}

type Shown = Pick<Reading, 'reader' | 'evidence' | 'clock' | 'rules'>;

interface PlanAnswer extends Partial<AnsweredPart> {
  plan: Plan;
  applied?: Omit<Applied, 'plan'>;
}

/** What each of them did. */
export interface Done {
  approvePlan: PlanAnswer;
  rejectPlan: PlanAnswer;
  applyPlan: PlanAnswer;
  addExemption: Awaited<ReturnType<typeof exempt>>;
  resolveIntent: Intent;
  resumeRollout: SteeredRollout;
  restartRollout: SteeredRollout;
  checkSubject: Checked;
  releaseClaims: Awaited<ReturnType<typeof releaseTarget>>;
}

export type ActingId = keyof Done;

/** Doing it is apart from showing what was done: a worker of this version does what one of the version before asked for, and answers in its form. */
const ACTING: {
  readonly [Id in ActingId]: {
    does(acting: Acting, input: Parsed<Id>, who: Who): Promise<Done[Id]>;
    shows(shown: Shown, done: Done[Id]): Promise<Output<Id>>;
  };
} = {
  approvePlan: {
    does: async (acting, { id, rules, only, except, keys, digest, breakGlass, ...said }, who) => {
      const { engine, appliesAtOnce } = acting;
      const { by } = who;
      const part = { rules, only, except, keys, digest };
      const { plan, ...others } = await approvePart(engine, id, part, { ...said, ...who }, breakGlass);
      if (breakGlass) void engine.afterwards?.();
      if (!appliesAtOnce || plan.status !== 'approved') return { plan, ...others };
      const isStopped = (await engine.store.stop()) !== undefined;
      const freeze = (await freezeOf(engine, plan))();
      const isHeld = !isLive(engine.daemonMode) || isStopped || isHeldWhole(engine, plan, freeze);
      return isHeld
        ? { plan, ...others }
        : { ...others, ...(await applied(acting, plan.id, { ...said, reason: undefined, by })) };
    },
    shows: answeredPart,
  },
  rejectPlan: {
    does: ({ engine }, { id, digest, ...said }, { by }) =>
      answerPart(engine, id, 'reject', { rules: [], only: [], except: [], digest }, { ...said, by }),
    shows: answeredPart,
  },
  applyPlan: {
    does: (acting, { id, breakGlass, ...said }, { by, touch }) =>
      applied(acting, id, { ...said, by, touch }, breakGlass),
    shows: answered,
  },
  addExemption: {
    does: ({ engine }, request, { by, groups }) => exempt(engine, request, by, groups),
    shows: async ({ clock }, { exemption, covers, released }) => ({
      ...views.exemption(exemption, clock.nowMs()),
      covers: covers ?? null,
      released: released.map(views.released),
    }),
  },
  resolveIntent: {
    does: ({ engine }, { id, as, ...said }, { by }) => resolveIntent(engine, id, as, { ...said, by }),
    shows: async (_, intent) => views.intent(intent),
  },
  resumeRollout: {
    does: ({ engine }, { id, ...said }, who) => alerted(engine, resumeRollout(engine, id, { ...said, ...who })),
    shows: async (_, { rule, state }) => views.rollout(rule, state),
  },
  restartRollout: {
    does: ({ engine }, { id, ...said }, who) => alerted(engine, restartRollout(engine, id, { ...said, ...who })),
    shows: async (_, { rule, state }) => views.rollout(rule, state),
  },
  checkSubject: {
    does: ({ engine }, { kind, id, owner }, { by }) => checkAgain(engine, kind, id, by, owner),
    shows: async (_, checked) => views.checked(checked),
  },
  releaseClaims: {
    does: async ({ engine }, { target, rule, ...said }, who) => {
      const by = { ...said, ...who };
      const done = await (target === undefined
        ? planRelease(engine, rule ?? '', by)
        : releaseTarget(engine, target, by));
      if (!Array.isArray(done)) void engine.afterwards?.();
      return done;
    },
    shows: async (shown, done) => {
      if (Array.isArray(done)) return { released: done.map(views.released) };
      const { plan, matching, kept } = done;
      return { plan: await planShown(shown, plan), matching, kept };
    },
  },
};

/** Alerts about what has changed go out now, and not at the end of a run; nobody waits for them. */
async function alerted<T>({ afterwards }: Engine, steered: Promise<T>): Promise<T> {
  const result = await steered;
  void afterwards?.();
  return result;
}

export function isActing(id: string): id is ActingId {
  return Object.hasOwn(ACTING, id);
}

/** Errors: those of the operation. */
export function done<Id extends ActingId>(acting: Acting, id: Id, input: Parsed<Id>, who: Who): Promise<Done[Id]> {
  return ACTING[id].does(acting, input, who);
}

export function shown<Id extends ActingId>(reading: Shown, id: Id, what: Done[Id]): Promise<Output<Id>> {
  return ACTING[id].shows(reading, what);
}

/** Does an operation in its turn. Errors: those of the operation; AppError `busy` when too much waits, `stopped` when the process ends. */
export interface Turns {
  operate<Id extends ActingId>(id: Id, input: Parsed<Id>, asking: Asking): Promise<Output<Id>>;
}

async function applied({ engine, underWay }: Acting, id: string, who: Operator, glass = false): Promise<PlanAnswer> {
  underWay?.beginPlan(id);
  try {
    const { plan, ...rest } = await applyPlan(engine, id, who, { glass });
    return { plan, applied: rest };
  } finally {
    underWay?.end();
  }
}

async function answeredPart(shown: Shown, { rest, missed = [], ...answer }: PlanAnswer): Promise<Output<'rejectPlan'>> {
  return { ...(await answered(shown, answer)), rest: rest ? await planShown(shown, rest) : null, missed };
}

async function answered(reading: Shown, { plan, applied }: PlanAnswer): Promise<Output<'applyPlan'>> {
  const did = applied ? { ...applied, intents: applied.intents.map(views.intent) } : null;
  return { ...(await planShown(reading, plan)), applied: did };
}
