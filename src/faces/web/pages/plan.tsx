// web: one plan: exactly what approving it does, by rule and action, the answer of a person, and how it is applied. In: the store, and the
// ports that answer a plan. Out: a page; after an answer the plan, or the part, that has it.

import { z } from 'zod';
import { givenText, positionField, saidFields } from '../../../contract/operation.ts';
import { PLANS } from '../../../contract/plans.ts';
import { DRIFT_TARGETS_MAX, type Drift } from '../../../domain/check.ts';
import { AppError } from '../../../domain/errors.ts';
import { nameKey } from '../../../domain/identity.ts';
import { saidIn } from '../../../domain/operator.ts';
import {
  compareIntents,
  differenceFrom,
  type Plan,
  type PlannedIntent,
  type PlanSelection,
  successorText,
} from '../../../domain/plan.ts';
import { demandScope } from '../../http/auth.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, leadTo, listField, operationsOf, param, type Route, readForm, readQuery } from '../../http/route.ts';
import type { KindOf } from '../../report/build-report.ts';
import { changeTexts, countText, plural } from '../../report/fact-text.ts';
import { grouped } from '../../report/grouped.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Lines, Mark, type Row, Table, Words } from '../../report/html/text.tsx';
import { isGrave } from '../../report/state-now.ts';
import { answerPage, mayDo, readPage } from '../answer.tsx';
import { Live, Pager } from '../parts/act.tsx';
import {
  AnswerFact,
  AnswerForm,
  Answering,
  actsTitle,
  canBeCalled,
  freezeOn,
  isHeldApart,
  kindsOf,
  PlanHead,
  Progress,
  RuleButton,
  Successors,
  storiesOf,
  titleOf,
} from './plan-answer.tsx';
import { Since } from './plan-since.tsx';
import { EffectCell, Facts, Held, hasWords, pathOf, Story, Target, type TargetStory, Tick } from './plan-target.tsx';

// An answer to a plan as a form, and the page when somebody was there first.

/** Errors: AppError `not_found`; `usage` for a beginning that fits several. */
async function foundPlan({ reader }: Pick<HttpDeps, 'reader'>, context: Ctx): Promise<Plan> {
  const id = param(context, 'id');
  const plan = await reader.plan(id);
  if (!plan) throw new AppError('not_found', `there is no plan \`${id}\`: \`/plans\` lists them`);
  return plan;
}

/** `answer` returns the id of the plan to show. */
function answerRoute(deps: HttpDeps, path: string, answer: (context: Ctx, plan: Plan) => Promise<string>): Route {
  return {
    method: 'POST',
    path,
    scope: 'approve',
    handle: async (context) => {
      try {
        return leadTo(context, pathOf({ id: await answer(context, await foundPlan(deps, context)) }));
      } catch (error) {
        const plan = await deps.reader.plan(param(context, 'id'));
        if (!plan || !(error instanceof AppError && error.code === 'conflict')) throw error;
        return answerPage(deps, context, await conflictPage(deps, plan, error.message), 409);
      }
    },
  };
}

async function conflictPage({ reader }: HttpDeps, plan: Plan, why: string) {
  const { id, status, supersededBy } = plan;
  const isReplaced = status === 'superseded' && supersededBy !== undefined;
  const text = isReplaced ? successorText(supersededBy, await differenceFrom(reader, plan)) : undefined;
  return {
    title: 'Your answer was not used',
    section: '/plans' as const,
    body: (
      <article class="card">
        <h1>Your answer was not used</h1>
        <p>
          <Words>{why}</Words>
        </p>
        <dl class="facts">
          <dt>status</dt>
          <dd>
            <Mark word={status} />
          </dd>
          <AnswerFact plan={plan} />
        </dl>
        <Successors text={text} ids={supersededBy ?? []} />
        <p>
          <Link href={pathOf(plan)}>Plan {id} as it is now</Link>
        </p>
      </article>
    ),
  };
}

// What a plan does, by rule and action: each group with a page of its targets.

interface Shown {
  plan: Plan;
  kindOf: KindOf;
  query: PlanQuery;
  /** Its targets have boxes to tick. */
  canAnswer: boolean;
  typed: Typed;
  /** Whether targets can be compared with now. */
  hasDrift: boolean;
  /** By key: what was done to the target before, and for this plan. */
  stories: ReadonlyMap<string, TargetStory>;
}

function Group({ group, shown }: { group: PlanGroup; shown: Shown }) {
  const { plan, canAnswer, query } = shown;
  const { at, rules, action, title, total, found, from, intents } = group;
  const id = `group-${at}`;
  const isSearched = (query.q ?? '') !== '';
  const ofRules = plan.intents.length === total ? 0 : countOf(plan, rules);
  const hasStory = intents.some(({ key }) => hasWords(shown.stories.get(key)));
  const columns = [
    ...(canAnswer ? ['Tick'] : []),
    'Target and devices',
    { head: 'Facts when the plan was made', kind: 'facts' as const },
    'Effect',
    ...(hasStory ? [canAnswer ? 'Before' : 'Outcome'] : []),
  ];
  return (
    <section class={isGrave(action) ? 'card grave' : 'card'} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p class="quiet">
        <Code>{action}</Code>, asked for by{' '}
        {rules.map((rule, nth) => (
          <>
            {nth > 0 ? ', ' : ''}
            <Link href={`/rules/${encodeURIComponent(rule)}`}>{rule}</Link>
          </>
        ))}
      </p>
      {shown.hasDrift && intents[0]?.held && !isHeldApart(intents) ? <Held intent={intents[0]} /> : null}
      {canAnswer && ofRules > 0 ? (
        <p>
          <RuleButton rules={rules} count={ofRules} />
        </p>
      ) : null}
      {intents.length > 1 ? <GroupTools id={id} canTick={canAnswer} /> : null}
      <Table
        caption={`${action} by ${rules.join(', ')}`}
        columns={columns}
        rows={intents.map((intent) => rowOf(intent, id, { hasStory, isApart: isHeldApart(intents) }, shown))}
        empty={isSearched ? 'Nothing of it has this text.' : 'See the group by itself.'}
      />
      {found > intents.length ? (
        <p class="quiet">
          {intents.length === 0 ? 'None' : `${countText(from + 1)} to ${countText(from + intents.length)}`} of{' '}
          {countText(found)}
          {isSearched ? ` with this text (${plural(total, 'action')} in all)` : ''}.
        </p>
      ) : null}
      <Pager next={nextOf(group, shown)} text={`More of ${action} by ${rules.join(', ')}`} />
      {shown.hasDrift
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

const counted = new WeakMap<Plan, ReadonlyMap<string, number>>();

/** Of all actions of exactly these rules. Every group asks: the intents are counted once. */
function countOf(plan: Plan, rules: readonly string[]): number {
  const counts = counted.get(plan) ?? countsByRules(plan);
  counted.set(plan, counts);
  return counts.get(rules.join(' ')) ?? 0;
}

function countsByRules({ intents }: Plan): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const intent of intents) {
    const key = rulesOf(intent).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function chunksOf(intents: readonly PlannedIntent[]): PlannedIntent[][] {
  const chunks: PlannedIntent[][] = [];
  for (let at = 0; at < intents.length; at += DRIFT_TARGETS_MAX) chunks.push(intents.slice(at, at + DRIFT_TARGETS_MAX));
  return chunks;
}

function nextOf({ at, from, found, intents }: PlanGroup, { plan, query }: Shown): string | undefined {
  const next = from + intents.length;
  if (next >= found) return undefined;
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
          <input type="checkbox" data-ticks={id} /> Tick all that is shown here
        </label>
      ) : null}
    </div>
  );
}

interface RowTraits {
  hasStory: boolean;
  /** Its rows are held for different reasons. */
  isApart: boolean;
}

function rowOf(intent: PlannedIntent, group: string, { hasStory, isApart }: RowTraits, shown: Shown): Row {
  const { plan, canAnswer, stories } = shown;
  const cells = [
    <Target intent={intent} kindOf={shown.kindOf} />,
    <Facts
      intent={intent}
      atMs={plan.createdAt}
      flip={stories.get(intent.key)?.flip}
      isOpen={shown.hasDrift && isApart}
    />,
    <EffectCell intent={intent} />,
    ...(hasStory ? [<Story story={stories.get(intent.key)} />] : []),
  ];
  return {
    cells: canAnswer
      ? [<Tick intent={intent} group={group} isTicked={shown.typed.target.includes(intent.key)} />, ...cells]
      : cells,
  };
}

const LIVE = 'plan intent stop';

const text = z.string().max(1_000).optional();
const shown = { q: text, group: positionField.optional(), from: positionField.optional() };
const query = z.strictObject({ ...shown, seen: z.string().max(100).optional() });
const driftQuery = z.strictObject({ ...shown, rows: z.coerce.number().int().min(1).max(DRIFT_TARGETS_MAX).optional() });
const digest = z.string().max(100);
const approveForm = z.strictObject({
  digest,
  ...saidFields(PLANS.approvePlan),
  choice: z.string().max(100_000),
  breakGlass: z.literal('yes').optional(),
  target: listField(z.string().max(100)),
});
/** What a person has typed and ticked so far: nothing of it is an answer yet. */
const againForm = z.strictObject({
  digest,
  reason: text,
  reference: text,
  breakGlass: z.literal('yes').optional(),
  target: listField(z.string().max(100)),
});
type Typed = Pick<z.infer<typeof againForm>, 'reason' | 'reference' | 'target'>;
const rejectForm = z.strictObject({ digest, ...saidFields(PLANS.rejectPlan), reason: givenText });
const applyForm = z.strictObject({
  digest,
  ...saidFields(PLANS.applyPlan),
  breakGlass: z.literal('yes').optional(),
});

export function planPages(deps: HttpDeps): Route[] {
  const answering = new Answering(deps);
  return [
    readPage(deps, '/plans/:id', async (context) => {
      const plan = await foundPlan(deps, context);
      return {
        title: titleOf(plan),
        section: '/plans',
        live: LIVE,
        body: await body(deps, answering, context, plan, readQuery(context, query), { target: [] }),
      };
    }),
    {
      method: 'POST',
      path: '/plans/:id/again',
      scope: 'read',
      handle: async (context) => {
        const plan = await foundPlan(deps, context);
        const typed = await readForm(context, againForm);
        const page = { title: titleOf(plan), section: '/plans' as const, live: LIVE };
        return answerPage(deps, context, { ...page, body: await body(deps, answering, context, plan, {}, typed) }, 200);
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
    answerRoute(deps, '/plans/:id/approve', async (context, plan) => {
      const form = await readForm(context, approveForm);
      demandPending(plan);
      const part = partOf(await planRead(deps, plan, form.digest), form.choice, new Set(form.target));
      const by = context.var.caller.name;
      const glass = demandGlass(context, form);
      const { id } = plan;
      const answer = { id, ...saidIn(form), ...part, digest: form.digest, breakGlass: glass !== undefined };
      return answering.begin(id, 'approve', by, () => operationsOf(deps, context).approvePlan(answer));
    }),
    answerRoute(deps, '/plans/:id/reject', async (context, plan) => {
      const form = await readForm(context, rejectForm);
      demandPending(plan);
      const by = context.var.caller.name;
      const answer = { id: plan.id, ...saidIn(form), digest: form.digest };
      return answering.begin(plan.id, 'reject', by, () => operationsOf(deps, context).rejectPlan(answer));
    }),
    answerRoute(deps, '/plans/:id/apply', async (context, plan) => {
      const form = await readForm(context, applyForm);
      demandSeen(plan, form.digest);
      const by = context.var.caller.name;
      const glass = demandGlass(context, form);
      const answer = { id: plan.id, ...saidIn(form), reason: glass?.reason, breakGlass: glass !== undefined };
      return answering.begin(plan.id, 'apply', by, () => operationsOf(deps, context).applyPlan(answer));
    }),
  ];
}

/** INVARIANT: a page that is read shows what was read first, and sends its digest; what changed since is shown beside it. */
async function body(
  deps: HttpDeps,
  answering: Answering,
  context: Ctx,
  now: Plan,
  { seen = now.digest, ...asked }: PlanQuery & { seen?: string | undefined },
  typed: Typed,
) {
  const { status } = now;
  const read = status === 'pending' && seen !== now.digest ? await deps.reader.planAt(now.id, seen) : undefined;
  const plan = read ?? now;
  const canAnswer = status === 'pending' && mayDo(context, 'approve');
  const canBreak = mayDo(context, 'admin') && freezeOn(deps, plan) !== undefined;
  const groups = groupsOf(plan, asked);
  const stories = await storiesOf(
    deps,
    plan,
    groups.flatMap(({ intents }) => intents),
  );
  const rows = groups.reduce((sum, { intents }) => sum + intents.length, 0);
  const hasDrift = canBeCalled(plan);
  const shown = { plan, kindOf: kindsOf(deps), query: asked, canAnswer, typed, hasDrift, stories };
  // What a person is filling in, and what is compared with now, stays while the plan has the same status.
  const stays = status === 'applying' || status === 'applied' ? undefined : 'true';
  return (
    <>
      <h1>{titleOf(plan)}</h1>
      <Live id="plan" on={LIVE} path={`${pathOf(plan)}?${paramsOf({ ...asked, seen: plan.digest })}`}>
        {read ? <Since {...(await sinceOf(deps, now, read))} canAnswer={canAnswer} /> : null}
        <PlanHead deps={deps} answering={answering} plan={now} />
        <Progress deps={deps} plan={now} mayApply={mayDo(context, 'approve')} canBreak={canBreak} />
        <div id={`targets-${status}`} hx-preserve={stays}>
          <Search plan={plan} asked={asked} isWhole={rows === plan.intents.length} />
          {groups.map((group) => (
            <Group group={group} shown={shown} />
          ))}
        </div>
        {canAnswer ? (
          <AnswerForm plan={plan} paged={rows < plan.intents.length} canBreak={canBreak} typed={typed} />
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

/** A person answers what they saw. Errors: AppError `conflict`. */
function demandSeen(plan: Plan, seen: string): void {
  if (plan.digest === seen) return;
  throw new AppError('conflict', `plan ${plan.id} is not what your page showed: nothing was done; read it again`);
}

/** Errors: AppError `conflict` when that content is no longer kept. */
async function planRead({ reader }: HttpDeps, plan: Plan, seen: string): Promise<Plan> {
  const read = seen === plan.digest ? plan : await reader.planAt(plan.id, seen);
  if (read) return read;
  throw new AppError('conflict', `plan ${plan.id} is not what your page showed: nothing was done; read it again`);
}

/** Of two who answer, the second learns it at once; the port asks again in its turn. Errors: AppError `conflict`. */
function demandPending({ id, status }: Plan): void {
  if (status === 'pending') return;
  throw new AppError('conflict', `plan ${id} is ${status} by now and no longer waits: nothing was changed`);
}

/** Errors: AppError `usage` for a choice that names nothing. */
function partOf(plan: Plan, choice: string, ticked: ReadonlySet<string>): PlanSelection {
  const whole = { rules: [], only: [], except: [] };
  if (choice === 'all') return whole;
  if (choice === 'only' || choice === 'except') {
    if (ticked.size === 0) throw new AppError('usage', 'nothing is ticked: tick targets of the plan, or approve all');
    const isOnly = choice === 'only';
    return { ...whole, keys: keysOf(plan, ({ key }) => ticked.has(key) === isOnly) };
  }
  const [kind, ...rules] = choice.split(' ');
  if (kind !== 'rules') throw new AppError('usage', `\`choice\` is \`${choice}\`: expected all, only, except or rules`);
  const wanted = rules.join(' ');
  return { ...whole, keys: keysOf(plan, (one) => rulesOf(one).join(' ') === wanted) };
}

function keysOf({ intents }: Plan, isChosen: (intent: Plan['intents'][number]) => boolean): string[] {
  return intents.filter(isChosen).map(({ key }) => key);
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
  /** All of them, whatever is searched for. */
  total: number;
  /** How many the text names. */
  found: number;
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
        total: all.length,
        found: found.length,
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
