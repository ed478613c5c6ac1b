// web: one plan: exactly what approving it does, by rule and action, the answer of a person, and how it is applied. In: the store, and the
// ports that answer a plan. Out: a page; after an answer the plan, or the part, that has it.

import { z } from 'zod';
import { positionField } from '../../../contract/operation.ts';
import { asksTouch } from '../../../domain/approvals.ts';
import { DRIFT_TARGETS_MAX, type Drift } from '../../../domain/check.ts';
import { planDigest } from '../../../domain/digest.ts';
import { AppError } from '../../../domain/errors.ts';
import { nameKey } from '../../../domain/identity.ts';
import { saidIn } from '../../../domain/operator.ts';
import { compareIntents, type Plan, type PlannedIntent, type PlanSelection } from '../../../domain/plan.ts';
import type { RunRecord } from '../../../domain/store.ts';
import type { ServiceUse } from '../../../domain/store-ports.ts';
import { demandScope } from '../../http/auth.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { askTouch, takeTouch } from '../../http/passkeys.ts';
import { problemOf } from '../../http/problem.ts';
import { type Ctx, json, leadTo, operationsOf, param, type Route, readForm, readQuery } from '../../http/route.ts';
import type { KindOf } from '../../report/build-report.ts';
import { snapshotView } from '../../report/decision-view.ts';
import { changeTexts, countText, plural, verbOf } from '../../report/fact-text.ts';
import { grouped, limitsOf, sharedLines } from '../../report/grouped.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Lines, Mark, Table, Words } from '../../report/html/text.tsx';
import { isGrave } from '../../report/state-now.ts';
import { answerPage, mayDo, readPage } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';
import { Live, Pager } from '../parts/act.tsx';
import { Reach } from '../parts/figures.tsx';
import { touchField, touchPart } from './passkeys.tsx';
import {
  AnswerForm,
  Answering,
  actsTitle,
  canBeCalled,
  formFields,
  HeldBack,
  kindsOf,
  liftedOf,
  Mistake,
  PlanHead,
  Progress,
  type Typed,
  titleOf,
  type Verb,
} from './plan-answer.tsx';
import { Since } from './plan-since.tsx';
import {
  effectLines,
  factLines,
  hasWords,
  isShutdown,
  pathOf,
  Story,
  storiesOf,
  Target,
  type TargetStory,
  Tick,
  UseWords,
  usersText,
  wordToType,
} from './plan-target.tsx';

// An answer to a plan as a form, and the page when somebody was there first.

/** Errors: AppError `not_found`; `usage` for a beginning that fits several. */
async function foundPlan({ reader }: Pick<HttpDeps, 'reader'>, context: Ctx): Promise<Plan> {
  const id = param(context, 'id');
  const plan = await reader.plan(id);
  if (!plan) throw new AppError('not_found', `there is no plan \`${id}\`: \`/plans\` lists them`);
  return plan;
}

interface Given {
  context: Ctx;
  plan: Plan;
  form: z.infer<typeof answerForm>;
}

/** A mistake is said on the page where it was made, with what was ticked and typed. `answer`: what is wrong with it, or what it does. */
function answerRoute(
  deps: HttpDeps,
  answering: Answering,
  verb: Verb,
  answer: (given: Given) => Promise<() => Promise<{ id: string }>>,
): Route {
  return {
    method: 'POST',
    path: `/plans/:id/${verb}`,
    scope: 'read',
    handle: async (context) => {
      const plan = await foundPlan(deps, context);
      const form = await readForm(context, answerForm);
      const { caller } = context.var;
      try {
        demandScope(caller, 'approve');
        await takeTouch(deps, context, form.touch);
        const work = await answer({ context, plan, form });
        return leadTo(context, pathOf({ id: await answering.begin(plan.id, verb, caller.name, work) }));
      } catch (error) {
        const problem = problemOf(error);
        if (!problem || problem.status >= 500) throw error;
        const mistake = problem.problemDetail;
        const page = await pageOf(deps, answering, context, {
          asked: askedOf(form),
          seen: form.digest,
          typed: form,
          mistake,
        });
        return answerPage(deps, context, page, problem.status);
      }
    },
  };
}

/** What the person's passkey is asked to sign for this answer. */
function touchRoute(
  deps: HttpDeps,
  verb: 'approve' | 'apply',
  ask: (context: Ctx, plan: Plan, form: z.infer<typeof answerForm>) => Promise<Response>,
): Route {
  return {
    ...{ method: 'POST', path: `/plans/:id/touch/${verb}`, scope: 'approve' },
    handle: async (context) => ask(context, await foundPlan(deps, context), await readForm(context, answerForm)),
  };
}

function askedOf({ q, group, from }: PlanQuery): PlanQuery {
  return { q, group, from };
}

// What a plan does, by rule and action: each group with a page of its targets.

interface Shown {
  plan: Plan;
  kindOf: KindOf;
  query: PlanQuery;
  /** Its targets have boxes to tick. */
  canAnswer: boolean;
  /** Keys; undefined: all are. */
  ticked: ReadonlySet<string> | undefined;
  /** Whether targets can be compared with now. */
  hasDrift: boolean;
  /** By key: what was done to the target before, and for this plan. */
  stories: ReadonlyMap<string, TargetStory>;
  /** The last run that read lists. */
  run: RunRecord | undefined;
  use: ServiceUse | undefined;
}

function Group({ group, shown }: { group: PlanGroup; shown: Shown }) {
  const { plan, query, hasDrift, run, use } = shown;
  const { at, rules, action, title, all, found, from, intents } = group;
  const id = `group-${at}`;
  const isSearched = (query.q ?? '') !== '';
  // The page has its title then.
  const isAlone = all.length === plan.intents.length;
  const usual = usualReason(all);
  const lines = intents.map((intent) => linesOf(intent, { usual, isAlone: intents.length === 1 }, shown));
  const shared = sharedLines(lines.map(({ facts, effect }) => [...facts, ...effect]));
  return (
    <section class={isGrave(action) ? 'group grave' : 'group'} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} class={isAlone && !isGrave(action) ? 'unseen' : undefined}>
        {title}
      </h2>
      <p class="quiet">
        <Code>{action}</Code>, asked for by{' '}
        {rules.map((rule, nth) => (
          <>
            {nth > 0 ? ', ' : ''}
            <Link href={`/rules/${encodeURIComponent(rule)}`}>{rule}</Link>
          </>
        ))}
        {!isAlone && query.group === undefined ? (
          <>
            {' '}
            · <Link href={`${pathOf(plan)}?group=${at}`}>only these</Link>
          </>
        ) : null}
      </p>
      {run && hasDrift ? <ReachOf run={run} group={group} /> : null}
      {hasDrift ? <HeldBack intents={all} /> : null}
      {hasDrift && isShutdown(action) ? <UseWords use={use} /> : null}
      {shared.size > 0 ? (
        <ul class="list">
          <Lines texts={[...shared].map((text) => `each: ${text}`)} as="li" />
        </ul>
      ) : null}
      {intents.length > 1 ? <GroupTools id={id} canTick={shown.canAnswer} /> : null}
      <Table
        caption={`${action} by ${rules.join(', ')}`}
        {...tableOf(lines, { id, shared, hasUse: isShutdown(action) && use !== undefined }, shown)}
        empty={isSearched ? 'Nothing of it has this text.' : 'See the group by itself.'}
      />
      {found.length > intents.length ? (
        <p class="quiet">
          {intents.length === 0 ? 'None' : `${countText(from + 1)} to ${countText(from + intents.length)}`} of{' '}
          {countText(found.length)}
          {isSearched ? ` with this text (${plural(all.length, 'action')} in all)` : ''}.
        </p>
      ) : null}
      <Pager next={nextOf(group, shown)} text={`More of ${action} by ${rules.join(', ')}`} />
      {hasDrift
        ? chunksOf(intents).map((chunk, part) => (
            <DriftPart
              id={`drift-${at}-${from + part * DRIFT_TARGETS_MAX}`}
              path={`${pathOf(plan)}/drift?${new URLSearchParams({
                ...(isSearched && { q: query.q as string }),
                group: String(at),
                from: String(from + part * DRIFT_TARGETS_MAX),
                rows: String(chunk.length),
              })}`}
              count={chunk.length}
            />
          ))
        : null}
    </section>
  );
}

interface RowLines {
  intent: PlannedIntent;
  story: TargetStory | undefined;
  facts: string[];
  effect: string[];
}

function linesOf(
  intent: PlannedIntent,
  { usual, isAlone }: { usual: string; isAlone: boolean },
  shown: Shown,
): RowLines {
  const { plan, stories, hasDrift } = shown;
  const story = stories.get(intent.key);
  const reason = intent.reasonText || intent.reason;
  return {
    intent,
    story,
    facts: [
      ...factLines(intent, plan.createdAt, story?.flip),
      ...(hasDrift && intent.held && reason !== usual ? [`waits: ${reason}`] : []),
    ],
    effect: effectLines(intent, isAlone),
  };
}

/** Why most of them wait: the head of their group has every reason, and a row only another one. */
function usualReason(intents: readonly PlannedIntent[]): string {
  const byReason = grouped(intents, ({ reasonText, reason }) => reasonText || reason);
  const [first] = byReason.toSorted((one, other) => other.length - one.length)[0] ?? [];
  return first ? first.reasonText || first.reason : '';
}

interface TableTraits {
  id: string;
  /** Said above it. */
  shared: ReadonlySet<string>;
  hasUse: boolean;
}

/** A column in which no row has anything is left out. */
function tableOf(lines: readonly RowLines[], { id, shared, hasUse }: TableTraits, shown: Shown) {
  const { canAnswer, ticked, use, kindOf } = shown;
  const own = (texts: readonly string[]) => texts.filter((text) => !shared.has(text));
  const rows = lines.map(({ intent, story, facts, effect }) => [
    <div class="ticked">
      {canAnswer ? <Tick intent={intent} group={id} isTicked={ticked?.has(intent.key) ?? true} /> : null}
      <div>
        <Target intent={intent} kindOf={kindOf} />
      </div>
    </div>,
    hasUse ? <Mark word="off" tone="bad" text={usersText(use, intent.target)} /> : null,
    own(facts).length === 0 ? null : <Lines texts={own(facts)} />,
    own(effect).length === 0 ? null : <Lines texts={own(effect)} />,
    hasWords(story) ? <Story story={story} /> : null,
  ]);
  const columns = [
    'Target',
    'Used by',
    { head: 'Facts when the plan was made', kind: 'facts' as const },
    'Effect',
    lines.some(({ story }) => story?.outcome) ? 'Outcome' : 'Before',
  ];
  const isShown = columns.map((_, at) => rows.some((cells) => cells[at] !== null));
  const kept = <T,>(all: readonly T[]) => all.filter((_, at) => isShown[at]);
  return { columns: kept(columns), rows: rows.map((cells) => ({ cells: kept(cells) })) };
}

/** How much of the fleet it is. */
function ReachOf({ run, group: { rules, action, all } }: { run: RunRecord; group: PlanGroup }) {
  const noun = verbOf(action)?.noun;
  const fleet = noun === undefined ? 0 : snapshotView(run)[`${noun}s` as 'devices' | 'users' | 'services'];
  const limits = limitsOf(run).filter(({ rule }) => rules.includes(rule));
  const count = all.reduce((sum, { effect }) => sum + (noun === 'device' ? Math.max(1, effect.devices.length) : 1), 0);
  if (fleet === 0 || noun === undefined) return null;
  const limit = limits.length === 0 ? undefined : Math.min(...limits.map(({ allowed }) => allowed));
  return <Reach count={count} of={fleet} limit={limit} noun={noun} />;
}

function chunksOf(intents: readonly PlannedIntent[]): PlannedIntent[][] {
  const chunks: PlannedIntent[][] = [];
  for (let at = 0; at < intents.length; at += DRIFT_TARGETS_MAX) chunks.push(intents.slice(at, at + DRIFT_TARGETS_MAX));
  return chunks;
}

function nextOf({ at, from, found, intents }: PlanGroup, { plan, query }: Shown): string | undefined {
  const next = from + intents.length;
  if (next >= found.length) return undefined;
  const params = new URLSearchParams({ ...(query.q && { q: query.q }), group: String(at), from: String(next) });
  return `${pathOf(plan)}?${params}`;
}

/** Both need JavaScript, which shows them. */
function GroupTools({ id, canTick }: { id: string; canTick: boolean }) {
  return (
    <div class="tools" hidden>
      <label>
        Filter <input type="search" data-filter={id} aria-describedby={`${id}-count`} />
      </label>
      <span id={`${id}-count`} class="quiet" aria-live="polite"></span>
      {canTick ? (
        <label>
          <input type="checkbox" data-ticks={id} checked /> Tick all that is shown here
        </label>
      ) : null}
    </div>
  );
}

const LIVE = 'plan intent stop';

const text = z.string().max(1_000).optional();
const shown = { q: text, group: positionField.optional(), from: positionField.optional() };
const query = z.strictObject({ ...shown, seen: z.string().max(100).optional() });
const driftQuery = z.strictObject({ ...shown, rows: z.coerce.number().int().min(1).max(DRIFT_TARGETS_MAX).optional() });
const answerForm = z.strictObject({ ...formFields, ...shown, touch: touchField });

export function planPages(deps: HttpDeps): Route[] {
  const answering = new Answering(deps);
  return [
    readPage(deps, '/plans/:id', async (context) => {
      const { seen, ...asked } = readQuery(context, query);
      return pageOf(deps, answering, context, { asked, seen });
    }),
    {
      method: 'POST',
      path: '/plans/:id/again',
      scope: 'read',
      handle: async (context) => {
        const typed = await readForm(context, answerForm);
        return answerPage(deps, context, await pageOf(deps, answering, context, { asked: askedOf(typed), typed }), 200);
      },
    },
    readPage(deps, '/plans/:id/drift', async (context) => {
      const plan = await foundPlan(deps, context);
      const asked = readQuery(context, driftQuery);
      const id = `drift-${asked.group ?? 0}-${asked.from ?? 0}`;
      return {
        title: `Plan ${plan.id}, compared with now`,
        section: '/plans',
        body: (
          <>
            <h1>Plan {plan.id}, compared with now</h1>
            <section class="card">
              <DriftTable id={id} drifts={await driftOf(deps, plan, asked)} />
              <Link href={pathOf(plan)}>Plan {plan.id}</Link>
            </section>
          </>
        ),
      };
    }),
    touchRoute(deps, 'approve', async (context, plan, form) => {
      const chosen = new Set(chosenOf(await planRead(deps, plan, form.digest), form).map(({ key }) => key));
      const part = plan.intents.filter(({ key }) => chosen.has(key));
      const digest = part.length === plan.intents.length ? plan.digest : planDigest(part);
      return askTouch(deps, context, form.breakGlass ? 'glass' : 'approve', { of: plan.id, digest });
    }),
    touchRoute(deps, 'apply', async (context, { id: of, digest }, { breakGlass }) =>
      breakGlass ? askTouch(deps, context, 'apply', { of, digest }) : json(null),
    ),
    answerRoute(deps, answering, 'approve', async ({ context, plan, form }) => {
      demandPending(plan);
      const read = await planRead(deps, plan, form.digest);
      const chosen = chosenOf(read, form);
      demandTyped(chosen, form.typed);
      const glass = demandGlass(context, form);
      const keys = chosen.length === read.intents.length ? {} : { keys: chosen.map(({ key }) => key) };
      const part: PlanSelection = { rules: [], only: [], except: [], ...keys };
      const answer = { id: plan.id, ...saidIn(form), ...part, digest: form.digest, breakGlass: glass !== undefined };
      return () => operationsOf(deps, context).approvePlan(answer);
    }),
    answerRoute(deps, answering, 'reject', async ({ context, plan, form: { digest, ...form } }) => {
      demandPending(plan);
      const { reason, ...said } = saidIn(form);
      if (!reason) throw new AppError('usage', 'rejecting needs a reason: say why it is refused');
      const answer = { id: plan.id, ...said, reason, digest };
      return () => operationsOf(deps, context).rejectPlan(answer);
    }),
    answerRoute(deps, answering, 'apply', async ({ context, plan, form }) => {
      if (form.digest !== plan.digest) throw notSeen(plan);
      const glass = demandGlass(context, form);
      const answer = { id: plan.id, ...saidIn(form), reason: glass?.reason, breakGlass: glass !== undefined };
      return () => operationsOf(deps, context).applyPlan(answer);
    }),
  ];
}

interface Reading {
  asked: PlanQuery;
  /** The digest of what was read; undefined: it is read now. */
  seen?: string | undefined;
  typed?: Typed | undefined;
  mistake?: string | undefined;
}

async function pageOf(deps: HttpDeps, answering: Answering, context: Ctx, reading: Reading): Promise<PageContent> {
  const plan = await foundPlan(deps, context);
  return {
    title: titleOf(plan),
    section: '/plans',
    live: LIVE,
    body: await body(deps, answering, context, plan, reading),
  };
}

/** INVARIANT: a page that is read shows what was read first, and sends its digest; what changed since is shown beside it. */
async function body(
  deps: HttpDeps,
  answering: Answering,
  context: Ctx,
  now: Plan,
  { asked, seen = now.digest, typed, mistake }: Reading,
) {
  const { status } = now;
  const read = status === 'pending' && seen !== now.digest ? await deps.reader.planAt(now.id, seen) : undefined;
  const plan = read ?? now;
  // Who made a mistake keeps what was typed, also who may not answer any more.
  const canAnswer = status === 'pending' && (mayDo(context, 'approve') || mistake !== undefined);
  const lifted = mayDo(context, 'admin') ? liftedOf(deps, plan) : [];
  const verb = status === 'pending' ? 'approve' : 'apply';
  const isAsked = canAnswer && asksTouch(plan, deps.rules());
  const touch = canBeCalled(plan) ? await touchPart(deps, context, `${pathOf(now)}/touch/${verb}`, isAsked) : null;
  const groups = groupsOf(plan, asked);
  const rows = groups.flatMap(({ intents }) => intents);
  const isOnPage = new Set(rows.map(({ key }) => key));
  const rest = groups.flatMap(({ found }) => found.filter(({ key }) => !isOnPage.has(key)));
  const hasDrift = canBeCalled(plan);
  const shown: Shown = {
    plan,
    kindOf: kindsOf(deps),
    query: asked,
    canAnswer,
    ticked: typed && new Set(typed.target),
    hasDrift,
    stories: await storiesOf(deps, plan, rows),
    run: (await deps.reader.runsOverLists(2)).find(({ findings }) => findings),
    // Who uses it now explains nothing that was answered before.
    use: hasDrift && rows.some(({ action }) => isShutdown(action)) ? await deps.reader.serviceUse() : undefined,
  };
  // What a person is filling in, and what is compared with now, stays while the plan has the same status.
  const stays = status === 'applying' || status === 'applied' ? undefined : 'true';
  return (
    <>
      <h1>{titleOf(plan)}</h1>
      {canAnswer ? null : <Mistake>{mistake}</Mistake>}
      <Live id="plan" on={LIVE} path={`${pathOf(plan)}?${paramsOf({ ...asked, seen: plan.digest })}`}>
        {read ? <Since {...(await sinceOf(deps, now, read))} canAnswer={canAnswer} /> : null}
        <PlanHead deps={deps} answering={answering} plan={now} />
        <Progress deps={deps} plan={now} mayApply={mayDo(context, 'approve')} {...{ lifted, touch }} />
        {plan.dropped ? null : (
          <div class="card" id={`targets-${status}`} hx-preserve={stays}>
            <Search plan={plan} asked={asked} isWhole={rows.length === plan.intents.length} />
            {groups
              .toSorted((one, other) => Number(isGrave(other.action)) - Number(isGrave(one.action)))
              .map((group) => (
                <Group group={group} shown={shown} />
              ))}
          </div>
        )}
        {canAnswer ? (
          <AnswerForm {...{ deps, plan, rest, lifted, touch, typed, mistake }} asked={{ ...asked }} shown={rows} />
        ) : null}
      </Live>
    </>
  );
}

function paramsOf(query: object): URLSearchParams {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
}

async function sinceOf({ reader }: HttpDeps, plan: Plan, read: Plan) {
  const compared = await compareIntents(read.intents, plan.intents);
  const run = (await reader.run(plan.runId))?.seq;
  return { plan, read, compared, revisions: await reader.planRevisions(plan.id), run };
}

/** For a plan that is longer than a page. */
function Search({ plan, asked, isWhole }: { plan: Plan; asked: PlanQuery; isWhole: boolean }) {
  const isPart = asked.q !== undefined || asked.group !== undefined;
  if (isWhole && !isPart) return null;
  return (
    <Form method="get" action={pathOf(plan)} class="act">
      <label>
        Find in this plan{' '}
        <input type="search" name="q" value={asked.q} maxlength={1000} placeholder="Target, name, owner" />
      </label>
      <button type="submit">Find</button>
      {isPart ? <Link href={pathOf(plan)}>All {countText(plan.intents.length)} of it</Link> : null}
    </Form>
  );
}

/** Why it may go through the change windows; undefined: it is not asked. Errors: AppError `usage` without a reason, Problem 403. */
function demandGlass(
  context: Ctx,
  { breakGlass, reason }: { breakGlass?: 'yes' | undefined; reason?: string | undefined },
): { reason: string } | undefined {
  if (breakGlass === undefined) return undefined;
  demandScope(context.var.caller, 'admin');
  if (reason === undefined) throw new AppError('usage', 'break glass needs a reason: say why the plan may not wait');
  return { reason };
}

/** A person answers what they saw. Errors: AppError `conflict` when that content is no longer kept. */
async function planRead({ reader }: HttpDeps, plan: Plan, seen: string): Promise<Plan> {
  const read = seen === plan.digest ? plan : await reader.planAt(plan.id, seen);
  if (read) return read;
  throw notSeen(plan);
}

function notSeen({ id }: Plan): AppError {
  return new AppError('conflict', `plan ${id} is not what your page showed: nothing was done; read it again`);
}

/** Of two who answer, the second learns it at once; the port asks again in its turn. Errors: AppError `conflict`. */
function demandPending({ id, status }: Plan): void {
  if (status === 'pending') return;
  throw new AppError('conflict', `plan ${id} is ${status} by now and no longer waits: nothing was changed`);
}

/** Errors: AppError `usage` for a form that ticks nothing. */
function chosenOf(plan: Plan, { target, rest, ...asked }: Typed & PlanQuery): PlannedIntent[] {
  const keys = new Set(target);
  if (rest)
    for (const { found, intents } of groupsOf(plan, askedOf(asked)))
      for (const one of found) if (!intents.includes(one)) keys.add(one.key);
  const chosen = plan.intents.filter(({ key }) => keys.has(key));
  if (chosen.length === 0) throw new AppError('usage', 'nothing is ticked: tick what you approve, or reject the plan');
  return chosen;
}

/** Errors: AppError `usage`. */
function demandTyped(chosen: readonly PlannedIntent[], typed = ''): void {
  const word = wordToType(chosen);
  if (word === undefined || nameKey(typed.replace(/,/g, '')) === nameKey(word)) return;
  const what = chosen.length === 1 ? 'the name of what is ticked' : 'how many are ticked';
  throw new AppError('usage', `to approve this, type \`${word}\`, ${what}`);
}

// The intents of a plan as a page shows them: by rules and action, a part of each.

const PAGE = 50;
/** Of all groups together: of each it shows an equal part, and at least some. */
const ROWS_MAX = 100;
const GROUP_ROWS_MIN = 5;

interface PlanQuery {
  /** A part of a target, or of an id, name, serial number or owner of what it is about; in any case. */
  q?: string | undefined;
  /** One group alone, by its place. */
  group?: number | undefined;
  /** The place of its first intent that is shown. */
  from?: number | undefined;
  /** How many of them are compared with now. */
  rows?: number | undefined;
}

interface PlanGroup {
  /** Its place among all groups of the plan: it stays the same with any query. */
  at: number;
  rules: string[];
  action: string;
  /** What all of them do. */
  title: string;
  /** Whatever is searched for. */
  all: readonly PlannedIntent[];
  /** Those that the text names. */
  found: readonly PlannedIntent[];
  from: number;
  intents: PlannedIntent[];
}

/** All groups of the plan in its order, each with a page of its intents; with a text, those that it names. */
function groupsOf({ intents }: Pick<Plan, 'intents'>, { q, group, from = 0 }: PlanQuery): PlanGroup[] {
  const part = nameKey(q ?? '');
  const groups = grouped(intents, (one) => [...rulesOf(one), one.action].join(' '));
  const equal = Math.max(GROUP_ROWS_MIN, Math.floor(ROWS_MAX / groups.length));
  const size = group === undefined ? Math.min(PAGE, equal) : PAGE;
  let left = ROWS_MAX;
  return groups.flatMap((all, at) => {
    if (group !== undefined && group !== at) return [];
    const [first] = all as [PlannedIntent];
    const found = part === '' ? all : all.filter((one) => isNamed(one, part));
    const begin = group === undefined ? 0 : from;
    const shown = found.slice(begin, begin + Math.min(size, left));
    left -= shown.length;
    const { action } = first;
    return [
      {
        at,
        rules: rulesOf(first),
        action,
        title: actsTitle(all),
        all,
        found,
        from: begin,
        intents: shown,
      },
    ];
  });
}

function rulesOf({ basis }: Pick<PlannedIntent, 'basis'>): string[] {
  return [...new Set(basis.map(({ rule }) => rule))].sort();
}

function isNamed({ target, basis, effect }: PlannedIntent, part: string): boolean {
  const devices = effect.devices.flatMap(({ id, name, serial, owners = [] }) => [id, name, serial ?? '', ...owners]);
  return [target, ...basis.map(({ subjectId }) => subjectId), ...devices].some((name) => nameKey(name).includes(part));
}

// What has changed about some targets of a plan since it was made.

function DriftPart({ id, path, count }: { id: string; path: string; count: number }) {
  const at = useAddress();
  if (count === 0) return null;
  return (
    <div id={id} class="drift" hx-get={at(path)} hx-select={`#${id}`} hx-trigger="load" hx-swap="outerHTML">
      <Link href={path}>Compare {plural(count, 'target')} with now</Link>
    </div>
  );
}

/** Errors: those of the port. */
async function driftOf(
  { planDrift }: Pick<HttpDeps, 'planDrift'>,
  plan: Plan,
  query: PlanQuery,
): Promise<readonly Drift[]> {
  const [group] = groupsOf(plan, { ...query, group: query.group ?? 0 });
  const intents = (group?.intents ?? []).slice(0, query.rows ?? DRIFT_TARGETS_MAX);
  if (intents.length === 0) return [];
  const keys = new Set(intents.map(({ key }) => key));
  const drifts = await planDrift(plan.id, [...new Set(intents.map(({ target }) => target))]);
  return drifts.filter(({ key }) => keys.has(key));
}

function DriftTable({ id, drifts }: { id: string; drifts: readonly Drift[] }) {
  const differing = drifts.filter((one) => textsOf(one).length > 0);
  const same = drifts.length - differing.length;
  return (
    <div id={id} class="drift">
      <p>
        Compared with now: {same} of {plural(drifts.length, 'target')} unchanged.
      </p>
      {differing.length === 0 ? null : (
        <Table
          caption="What differs from the plan now"
          columns={['Target', 'Differs now: then → now', 'Applying it now']}
          rows={differing.map((drift) => ({
            cells: [
              <Code>{drift.target}</Code>,
              <Lines texts={textsOf(drift)} />,
              drift.refused ? (
                <>
                  refused: <Words>{drift.refused.reasonText}</Words>
                </>
              ) : (
                ''
              ),
            ],
          }))}
        />
      )}
    </div>
  );
}

function textsOf({ changed, gone, refused, unread }: Drift): string[] {
  if (unread !== undefined) return [`cannot be read now: ${unread}`];
  const texts = [
    ...changeTexts(changed.map(({ field, then, now }) => ({ path: field, from: then, to: now }))),
    ...gone.map((subject) => `${subject} is gone`),
  ];
  return texts.length > 0 || refused === undefined ? texts : ['no fact of the record'];
}
