// web: what is in force: the claims that Trustward holds on targets, the oldest first, with what they rest on. In: filters. Out: a page with a
// form to release each, or to plan the release of all of a rule.

import { z } from 'zod';
import { shownName } from '../../../base/text.ts';
import type { ReleasedShown } from '../../../contract/nouns.ts';
import { givenText, nameField, saidFields } from '../../../contract/operation.ts';
import { DOUBTS } from '../../../contract/operator.ts';
import { type Claim, OPEN_CLAIM_STATUSES } from '../../../domain/episode.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Intent } from '../../../domain/intent.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { askingOf, type Ctx, leadTo, operationsOf, type Route, readForm, readSearch } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { countText, plural } from '../../report/fact-text.ts';
import { Who } from '../../report/html/document.tsx';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Mark, type Row, Table, Term, Words } from '../../report/html/text.tsx';
import { claimWords } from '../../report/words.ts';
import { addressOf } from '../address.ts';
import { answerPage, formPage, mayDo, readPage } from '../answer.tsx';
import { Act, Narrow, Pager, ReleasedTable } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';

// Claims as rows: who, what, since when, for which rule, and the run or plan behind it.

const CLAIM_COLUMNS = ['Who', 'Done', 'Since', { head: 'Rule', kind: 'id' }, 'By', 'State'] as const;

async function claimRows(
  { reader, clock, rules }: HttpDeps,
  claims: readonly Claim[],
  canRelease: boolean,
): Promise<Row[]> {
  const found = await reader.intents({ ids: [...new Set(claims.map(({ intentId }) => intentId))] });
  const intents = new Map(found.map((intent) => [intent.id, intent]));
  const runs = new Map<string, number>();
  for (const id of new Set(found.map(({ runId }) => runId))) {
    const run = await reader.run(id);
    if (run) runs.set(id, run.seq);
  }
  const nowMs = clock.nowMs();
  const loaded = new Map(rules().map((rule) => [rule.id, rule]));
  const episodes = new Map(
    (await reader.episodes(claims.map(({ episodeId }) => episodeId))).map((one) => [one.id, one]),
  );
  return claims.map((claim) => {
    const intent = intents.get(claim.intentId);
    const rule = loaded.get(claim.rule);
    const episode = episodes.get(claim.episodeId);
    const endsAt = rule?.revert && episode?.state === 'clearing' ? episode.stateSince + rule.clearForMs : undefined;
    return {
      id: `claim-${claim.id}`,
      cells: [
        <Subject claim={claim} intent={intent} kind={rule?.subject} />,
        <>
          <Link href={`/intents/${encodeURIComponent(claim.intentId)}`}>
            <Term>{claim.action}</Term>
          </Link>{' '}
          on <Code>{claim.target}</Code>
        </>,
        <Ago at={claim.openedAt} nowMs={nowMs} />,
        <Link href={`/rules/${encodeURIComponent(claim.rule)}`}>
          <Words>{claim.rule}</Words>
        </Link>,
        <Origin intent={intent} run={intent && runs.get(intent.runId)} />,
        <>
          <Mark
            word={claim.status}
            text={claimWords(claim.status)}
            tone={claim.status === 'orphaned' ? 'wait' : 'calm'}
          />
          {endsAt === undefined ? null : (
            <div class="quiet">
              no match now: ends {endsAt > nowMs ? <Ago at={endsAt} nowMs={nowMs} /> : 'with the next run'} at the
              earliest
            </div>
          )}
        </>,
        ...(canRelease
          ? [
              <Act
                to="/in-force/release"
                of={DOUBTS.releaseClaims}
                label="Release"
                isFolded
                reason="required"
                fields={{ intent: claim.intentId }}
                confirm={`Undo ${claim.action} on ${shownName(claim.target)} now? It is not done again while the rule keeps matching.`}
              />,
            ]
          : []),
      ],
    };
  });
}

interface SubjectProps {
  claim: Claim;
  intent: Intent | undefined;
  /** What the rule judges; undefined: the rule is not loaded. */
  kind: SubjectKind | undefined;
}

/** A device is known as the action read it. */
function Subject({ claim: { subjectId, target }, intent, kind }: SubjectProps) {
  const device = intent?.effect.devices.find(({ id }) => id === subjectId);
  const known = kind ?? (device ? 'device' : undefined);
  const href = known && subjectPath(known, subjectId);
  return <Who who={device ?? { id: subjectId }} href={href} shown={target} />;
}

function Origin({ intent, run }: { intent: Intent | undefined; run: number | undefined }) {
  return (
    <>
      {run === undefined ? null : <Link href={`/runs/${run}`}>run {run}</Link>}
      {intent?.planId === undefined ? null : (
        <>
          , <Link href={`/plans/${encodeURIComponent(intent.planId)}`}>its plan</Link>
        </>
      )}
      {intent?.approved ? <div class="quiet">approved by a person</div> : null}
    </>
  );
}

const PATH = '/in-force';
const PAGE = 50;

const query = z.strictObject({
  rule: nameField.optional(),
  action: nameField.optional(),
  status: z.enum(OPEN_CLAIM_STATUSES).optional(),
  q: nameField.optional(),
  after: nameField.optional(),
});
type Asked = z.infer<typeof query>;

/** The target is named by the action on it: a form does not bring back every character of a hostile name. */
const said = saidFields(DOUBTS.releaseClaims);
const releaseForm = z.strictObject({ ...said, intent: nameField, reason: givenText });
const ruleForm = z.strictObject({ ...said, rule: nameField });

export function inForcePages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => ({
      title: 'In force',
      section: PATH,
      body: await shown(deps, context, readSearch(context, query)),
    })),
    {
      method: 'POST',
      path: '/in-force/release',
      scope: 'approve',
      handle: (context) => release(deps, context),
    },
    formPage(deps, '/in-force/release-rule', 'approve', async (context) => {
      const released = await operationsOf(deps, context).releaseClaims(await readForm(context, ruleForm));
      return 'plan' in released ? `/plans/${encodeURIComponent(released.plan.id)}` : PATH;
    }),
  ];
}

/** What came of releasing a target, or the address of the plan that waits for other owners. */
export async function releasedOn(
  deps: HttpDeps,
  context: Ctx,
  target: string,
  given: { reason: string },
): Promise<ReleasedShown[] | string> {
  // A target as it was stored: its name may be longer than any that is typed.
  const answer = await deps.performer.perform('releaseClaims', { target, ...given }, askingOf(context));
  return 'released' in answer ? answer.released : `/plans/${encodeURIComponent(answer.plan.id)}`;
}

async function release(deps: HttpDeps, context: Ctx): Promise<Response> {
  const { intent: id, ...given } = await readForm(context, releaseForm);
  const [intent] = await deps.reader.intents({ ids: [id] });
  if (!intent) throw new AppError('not_found', `there is no action \`${id}\`: read the page of what is in force again`);
  const { target } = intent;
  const released = await releasedOn(deps, context, target, given);
  if (typeof released === 'string') return leadTo(context, released);
  const [only] = released;
  if (released.length === 1 && only?.intent) return leadTo(context, `/intents/${encodeURIComponent(only.intent.id)}`);
  return answerPage(deps, context, {
    title: 'Released',
    section: PATH,
    body: (
      <>
        <h1>
          Release of <Code>{target}</Code>
        </h1>
        <section class="card">
          <ReleasedTable released={released} />
          <p>
            <Link href={PATH}>All that is in force</Link>
          </p>
        </section>
      </>
    ),
  });
}

async function shown(deps: HttpDeps, context: Ctx, asked: Asked) {
  const { rule, action, status, q, after } = asked;
  const { rows, total } = await deps.reader.claimsInForce({
    ...(rule !== undefined && { rule }),
    ...(action !== undefined && { action }),
    ...(status !== undefined && { status }),
    ...(q !== undefined && { on: await namedBy(deps, q) }),
    ...(after !== undefined && { after }),
    limit: PAGE + 1,
  });
  const claims = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? addressOf(PATH, { ...asked, after: claims.at(-1)?.id }) : undefined;
  const isNarrowed = [rule, action, status, q].some((one) => one !== undefined);
  return (
    <>
      <h1>In force</h1>
      <p>
        What Trustward did and still holds. Where its rule says <code>revert: true</code>, it is undone once the rules
        that did it have not matched for as long as they say; elsewhere a person undoes it.
      </p>
      {await counts(deps, context)}
      <section class="card">
        <h2>
          {isNarrowed ? 'Those asked for' : 'All'}: {countText(total)}
        </h2>
        {isNarrowed ? <Narrowed asked={asked} /> : null}
        <Form class="act" method="get" action={PATH} aria-label="What is in force">
          {rule === undefined ? null : <input type="hidden" name="rule" value={rule} />}
          {action === undefined ? null : <input type="hidden" name="action" value={action} />}
          {status === undefined ? null : <input type="hidden" name="status" value={status} />}
          <label class="field">
            <span>Serial number, name, e-mail, service or id, in full</span>
            <input type="text" name="q" value={q} maxlength={1000} size={36} />
          </label>
          <button type="submit">Show</button>
        </Form>
        <div id="claims">
          <Narrow scope="claims" noun="rows of this page" />
          <Table
            caption="What is in force, the oldest first"
            columns={[...CLAIM_COLUMNS, ...(mayDo(context, 'approve') ? ['Release'] : [])]}
            rows={await claimRows(deps, claims, mayDo(context, 'approve'))}
            empty={isNarrowed ? 'Nothing like this is in force.' : 'Nothing is in force.'}
          />
          <Pager next={next} text="Newer" />
        </div>
      </section>
    </>
  );
}

/** Everything that the text may name; the text itself may be a target. */
async function namedBy({ reader }: HttpDeps, text: string) {
  const named = (await reader.identitiesNamed(text)).map(({ identity }) => identity);
  const serials = named.flatMap(({ kind, serial }) => (kind === 'device' && serial !== '' ? [serial] : []));
  const subjectIds = [...new Set([text, ...named.map(({ id }) => id)])];
  return { targets: [...new Set([text, ...serials])], subjectIds };
}

function Narrowed({ asked: { rule, action, status, q } }: { asked: Asked }) {
  const parts = [
    ...(rule === undefined ? [] : [`rule ${rule}`]),
    ...(action === undefined ? [] : [action]),
    ...(status === undefined ? [] : [claimWords(status)]),
    ...(q === undefined ? [] : [`“${q}”`]),
  ];
  return (
    <p>
      Only <Words>{parts.join(', ')}</Words>. <Link href={PATH}>Show all that is in force</Link>
    </p>
  );
}

async function counts({ reader }: HttpDeps, context: Ctx) {
  const found = await reader.claimCounts();
  const groups = new Map<string, { rule: string; action: string; standing: number; orphaned: number }>();
  for (const { rule, action, status, count } of found) {
    const key = `${rule} ${action}`;
    const group = groups.get(key) ?? { rule, action, standing: 0, orphaned: 0 };
    groups.set(key, { ...group, [status]: count });
  }
  const orphaned = found.reduce((sum, { status, count }) => sum + (status === 'orphaned' ? count : 0), 0);
  const canRelease = mayDo(context, 'approve');
  return (
    <section class="card">
      <h2>By rule and action</h2>
      {orphaned > 0 ? (
        <div class="notice wait">
          {plural(orphaned, 'action')} {orphaned === 1 ? 'is' : 'are'} in force <b>without a rule</b>: it is missing or
          off, so nothing undoes it by itself. A person releases it, or a rule that matches takes it over.
        </div>
      ) : null}
      <Table
        caption="What is in force, by rule and action"
        columns={[
          'Rule',
          'Action',
          { head: 'In force', kind: 'number' },
          { head: 'Without a rule', kind: 'number' },
          ...(canRelease ? ['Release all'] : []),
        ]}
        rows={[...groups.values()].map(({ rule, action, standing, orphaned }) => ({
          cells: [
            <Link href={addressOf(PATH, { rule, action })}>
              <Words>{rule}</Words>
            </Link>,
            <Term>{action}</Term>,
            countText(standing),
            orphaned === 0 ? (
              '0'
            ) : (
              <Link href={addressOf(PATH, { rule, action, status: 'orphaned' })}>{countText(orphaned)}</Link>
            ),
            ...(canRelease
              ? [
                  <Act
                    to="/in-force/release-rule"
                    of={DOUBTS.releaseClaims}
                    label="Plan the release"
                    isFolded
                    reason="optional"
                    fields={{ rule }}
                  />,
                ]
              : []),
          ],
        }))}
        empty="Nothing is in force."
      />
      {canRelease && groups.size > 0 ? (
        <p class="quiet">
          It plans the undo of all that the rule has in force. Nothing is undone before that plan is approved and
          applied.
        </p>
      ) : null}
    </section>
  );
}
