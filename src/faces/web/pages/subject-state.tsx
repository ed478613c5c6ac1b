// web: what is so of a subject now and who made it so, what happens next, and what is in force, waiting, unfinished or exempt. In: the
// answer of why. Out: sections, in the words that the terminal has too.

import { z } from 'zod';
import type { CheckedShown, ReleasedShown } from '../../../contract/nouns.ts';
import { givenText, saidFields } from '../../../contract/operation.ts';
import { DOUBTS, EXEMPTIONS } from '../../../contract/operator.ts';
import { resolveSubject } from '../../../domain/decision-filter.ts';
import { AppError } from '../../../domain/errors.ts';
import { exemptionText } from '../../../domain/exemption.ts';
import type { Identity } from '../../../domain/identity.ts';
import { openClaims } from '../../../domain/store.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import type { Why, WhyAnswer } from '../../../domain/why.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, leadTo, operationsOf, param, type Route, readForm } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { Who } from '../../report/html/document.tsx';
import { Link } from '../../report/html/link.tsx';
import { Code, Lines, Mark, Name, Table, When, Words } from '../../report/html/text.tsx';
import { checkedLines } from '../../report/rule-view.ts';
import { shortStateWords, stateWords } from '../../report/why-words.ts';
import { claimWords } from '../../report/words.ts';
import { answerPage } from '../answer.tsx';
import { Act, OutcomeMark, ReleasedTable } from '../parts/act.tsx';
import { releasedOn } from './in-force.tsx';

// The subject of an address.

export const SUBJECT_PATH = '/subjects/:kind/:id';

/** `isAlias`: it has another id than the one that was asked for. Errors: AppError `not_found`, `usage` for a name of several. */
export async function askedSubject(
  { reader }: Pick<HttpDeps, 'reader'>,
  context: Ctx,
): Promise<{ subject: Identity; isAlias: boolean }> {
  const [given, id] = [param(context, 'kind'), param(context, 'id')];
  const kind = SUBJECT_KINDS.find((known) => known === given);
  if (!kind)
    throw new AppError(
      'not_found',
      `there is no kind of subject \`${given}\`: it is one of ${SUBJECT_KINDS.join(', ')}`,
    );
  const subject = await resolveSubject(reader, { kind, id });
  return { subject, isAlias: subject.id !== id };
}

export function pathOf({ kind, id }: Pick<Identity, 'kind' | 'id'>): string {
  return subjectPath(kind, id);
}

export function rulePathOf(subject: Pick<Identity, 'kind' | 'id'>, rule: string): string {
  return `${pathOf(subject)}/rules/${encodeURIComponent(rule)}`;
}

/** What people call it: hostile. */
export function titleOf({ name, serial, id }: Pick<Identity, 'name' | 'serial' | 'id'>): string {
  return name || serial || id;
}

/** A user has none. */
export function StateCard({ why }: { why: WhyAnswer }) {
  if (why.states.length === 0 && why.unread === undefined) return null;
  const [first, ...others] = stateWords(why);
  const last = why.states.flatMap((state) => (state.last ? [state.last] : []));
  return (
    <section class="card">
      <h2>State</h2>
      <p class="lead">
        <Words>{first as string}</Words>
      </p>
      <Lines texts={others} as="p" />
      {last.map(({ intent, runSeq }) => (
        <p>
          <Link href={`/intents/${encodeURIComponent(intent.id)}`}>
            The action {intent.action} on <Name>{intent.target}</Name>
          </Link>
          {runSeq === undefined ? null : (
            <>
              , <Link href={`/runs/${runSeq}`}>the report of run {runSeq}</Link>
            </>
          )}
          {intent.planId === undefined ? null : (
            <>
              , <Link href={`/plans/${encodeURIComponent(intent.planId)}`}>its plan</Link>
            </>
          )}
        </p>
      ))}
    </section>
  );
}

export function NextCard({ next }: Pick<WhyAnswer, 'next'>) {
  return (
    <section class="card">
      <h2>What happens next</h2>
      <ul class="list">
        <Lines texts={next} as="li" />
      </ul>
    </section>
  );
}

export function InForceCard({ why }: { why: Why }) {
  const { claims, waiting, unfinished, exemption, joined } = why;
  if (claims.length + waiting.length + unfinished.length === 0 && !exemption && !joined) return null;
  return (
    <section class="card">
      <h2>In force, waiting and unfinished</h2>
      <ul class="list">
        {claims.map(({ action, target, rule, openedAt, status }) => (
          <li data-row>
            <Link href="/in-force">In force</Link>: <Code>{action}</Code> on <Code>{target}</Code>, by{' '}
            <RuleLink rule={rule} /> since <When at={openedAt} />{' '}
            {status === 'orphaned' ? <Mark word={status} text={claimWords(status)} tone="bad" /> : null}
          </li>
        ))}
        {waiting.map(({ plan, status, action, target, rules, reasonText, expiresAt }) => (
          <li data-row>
            <Link href={`/plans/${encodeURIComponent(plan)}`}>A plan</Link> <Mark word={status} />:{' '}
            <Code>{action}</Code> on <Code>{target}</Code>, by <RuleLinks rules={rules} />
            <div class="quiet">
              <Words>{reasonText}</Words>; until <When at={expiresAt} />
            </div>
          </li>
        ))}
        {unfinished.map(({ id, action, target, outcome, status, note }) => (
          <li data-row>
            <Link href={`/intents/${encodeURIComponent(id)}`}>
              {action} on <Name>{target}</Name>
            </Link>{' '}
            <OutcomeMark intent={{ outcome, status }} /> {note === undefined ? null : <Words>{note}</Words>}{' '}
            <Link href="/inbox">the inbox</Link>
          </li>
        ))}
        {exemption === undefined ? null : (
          <li data-row>
            <Link href={`/exemptions#exemption-${encodeURIComponent(exemption.id)}`}>Exempt</Link>:{' '}
            <Words>{exemptionText(exemption)}</Words>
          </li>
        )}
        {joined === undefined ? null : (
          <li data-row>
            <Link href={`/exemptions#exemption-${encodeURIComponent(joined.id)}`}>Joined an exemption later</Link>{' '}
            <Mark word="waits for a yes" tone="wait" /> <Words>{exemptionText(joined)}</Words>
          </li>
        )}
      </ul>
    </section>
  );
}

export function DevicesCard({ why: { devices, subject } }: { why: Why }) {
  if (devices.length === 0) return null;
  const title = subject.kind === 'user' ? 'Devices of this user' : 'Other devices of this serial number';
  return (
    <section class="card">
      <h2>{title}</h2>
      <Table
        caption={title}
        columns={['Device', 'Platform', 'Model', 'State']}
        rows={devices.map(({ identity, states }) => ({
          cells: [
            <Who who={identity} href={pathOf(identity)} />,
            <Name>{identity.platform}</Name>,
            <Name>{identity.model}</Name>,
            states.map((state) => (
              <Mark
                word={state.text}
                text={shortStateWords(state)}
                tone={state.isSo === undefined ? 'wait' : state.isSo ? 'bad' : 'good'}
              />
            )),
          ],
        }))}
      />
    </section>
  );
}

export function RuleLink({ rule }: { rule: string }) {
  return (
    <Link href={`/rules/${encodeURIComponent(rule)}`}>
      <Name>{rule}</Name>
    </Link>
  );
}

export function RuleLinks({ rules }: { rules: readonly string[] }) {
  return (
    <>
      {rules.map((rule, at) => (
        <>
          {at > 0 ? ', ' : ''}
          <RuleLink rule={rule} />
        </>
      ))}
    </>
  );
}

// What a person does about a subject: exempt it for a time, release what Trustward did to it, end its exemption.

const exemptForm = z.strictObject({
  ...saidFields(EXEMPTIONS.addExemption),
  reason: givenText,
  owner: givenText,
  for: z.enum(['1d', '7d', '30d']),
  until: z.string().max(100).optional(),
  release: z.literal('yes').optional(),
});
/** `claim`: an open one of the subject, where it is on another target than the subject's own. */
const releaseForm = z.strictObject({
  ...saidFields(DOUBTS.releaseClaims),
  reason: givenText,
  claim: z.string().max(100).optional(),
});

export function actionPages(deps: HttpDeps): Route[] {
  return [
    changed('exempt', async (context) => {
      const { owner, until, release, for: span, ...given } = await readForm(context, exemptForm);
      const { subject } = await askedSubject(deps, context);
      const request = { ...aboutOf(subject), owner, ...given, until: until ?? span, release: release === 'yes' };
      const { released } = await operationsOf(deps, context).addExemption({ ...request, unseen: true });
      return cameOf(deps, context, subject, released);
    }),
    changed('release', async (context) => {
      const { claim, ...given } = await readForm(context, releaseForm);
      const { subject } = await askedSubject(deps, context);
      const target = claim === undefined ? ownTarget(subject) : await targetOf(deps, subject, claim);
      const released = await releasedOn(deps, context, target, given);
      return cameOf(deps, context, subject, released);
    }),
    {
      method: 'POST',
      path: `${SUBJECT_PATH}/check`,
      scope: 'trigger',
      handle: async (context) => {
        await readForm(context, z.strictObject({}));
        const { subject } = await askedSubject(deps, context);
        const found = await operationsOf(deps, context).checkSubject({ kind: subject.kind, id: subject.id });
        return answerPage(deps, context, { title: 'Checked now', body: <CheckedCard found={found} of={subject} /> });
      },
    },
  ];
}

function CheckedCard({ found, of }: { found: CheckedShown; of: Identity }) {
  return (
    <>
      <h1>
        Checked <Name>{titleOf(of)}</Name>
      </h1>
      <section class="card">
        <Lines texts={checkedLines(found)} />
        <p>
          <Link href={pathOf(of)}>Its page</Link>
        </p>
      </section>
    </>
  );
}

function changed(what: string, handle: Route['handle']): Route {
  return { method: 'POST', path: `${SUBJECT_PATH}/${what}`, scope: 'approve', handle };
}

/** The subject's page shows what was released; what was not is shown at once, since nothing else does. */
function cameOf(deps: HttpDeps, context: Ctx, subject: Identity, released: readonly ReleasedShown[] | string) {
  if (typeof released === 'string') return leadTo(context, released);
  if (released.every(({ state }) => state === 'released')) return leadTo(context, pathOf(subject));
  return answerPage(deps, context, {
    title: 'Not all was released',
    body: (
      <>
        <h1>Not all was released</h1>
        <section class="card">
          <ReleasedTable released={released} />
          <p>
            <Link href={pathOf(subject)}>
              The page of <Name>{titleOf(subject)}</Name>
            </Link>
          </p>
        </section>
      </>
    ),
  });
}

function ownTarget({ kind, id, serial }: Identity): string {
  return kind === 'device' ? serial : id;
}

async function targetOf({ reader }: HttpDeps, { kind, id }: Identity, claimId: string): Promise<string> {
  const claim = (await openClaims(reader, { subjectId: id })).find((one) => one.id === claimId);
  if (!claim) throw new AppError('conflict', `what you released on this ${kind} is not in force any more`);
  return claim.target;
}

/** A serial number protects it through every new registration. */
function aboutOf({ kind, id, serial }: Identity) {
  return kind === 'device' && serial !== ''
    ? { selector: { field: 'SerialNumber', value: serial } }
    : { subject: { kind, id } };
}

export function ActionsCard({ why, caller }: { why: WhyAnswer; caller: string }) {
  const { subject, claims, exemption, joined } = why;
  const path = pathOf(subject);
  const claimOf = new Map(claims.map(({ id, target }) => [target, id]));
  return (
    <section class="card" id="actions">
      <h2>Change this</h2>
      <h3>Check now</h3>
      <p class="quiet">
        Reads it from the platform and judges it. What it mended is over, and undone. Nothing is begun by it.
      </p>
      <Act to={`${path}/check`} of={DOUBTS.checkSubject} label="Check now" />
      {exemption === undefined ? (
        <>
          <h3>Exempt</h3>
          <p class="quiet">
            No action is about {subject.serial === '' ? `this ${subject.kind}` : 'this serial number'} until then. An
            exemption never blocks an undo.
          </p>
          <Act to={`${path}/exempt`} of={EXEMPTIONS.addExemption} label="Exempt" reason="required" tone="main">
            <label class="field">
              <span>For</span>
              <select name="for">
                <option value="1d">a day</option>
                <option value="7d">7 days</option>
                <option value="30d">30 days</option>
              </select>
            </label>
            <label class="field">
              <span>or until</span>
              <input type="date" name="until" />
            </label>
            <label class="field">
              <span>Responsible</span>
              <input type="text" name="owner" value={caller} required maxlength={1000} />
            </label>
            {claimOf.size === 0 ? null : (
              <label>
                <input type="checkbox" name="release" value="yes" />
                <span>also undo what is in force</span>
              </label>
            )}
          </Act>
        </>
      ) : (
        <>
          <h3>End the exemption</h3>
          <Act to={`/exemptions/${encodeURIComponent(exemption.id)}/end`} label="End exemption" reason="required" />
        </>
      )}
      {joined === undefined ? null : (
        <>
          <h3>Let the exemption cover it</h3>
          <p class="quiet">
            It joined an exemption later. Until a person confirms it, it is neither exempt nor acted on.
          </p>
          <Act
            to={`/exemptions/${encodeURIComponent(joined.id)}/confirm`}
            label="Cover this too"
            reason="required"
            fields={{ subject: subject.id }}
          />
        </>
      )}
      {[...claimOf].map(([target, claim]) => (
        <>
          <h3>
            Release <Name>{target}</Name>
          </h3>
          <p class="quiet">
            Undoes now what Trustward did to it. A rule that matches it now leaves it alone until it has ceased to
            match.
          </p>
          <Act
            to={`${path}/release`}
            of={DOUBTS.releaseClaims}
            label="Release"
            reason="required"
            tone="danger"
            confirm="Release it? What was done to it is undone now."
            fields={target === ownTarget(subject) ? {} : { claim }}
          />
        </>
      ))}
    </section>
  );
}
