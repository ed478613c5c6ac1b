// web: what a person does about a subject: exempt it for a time, release what Trustward did to it, end its exemption. In: forms. Out: the
// subject's page, which shows the change. What it acts on is read from the store, never taken from the form alone.

import { z } from 'zod';
import { AppError } from '../../../domain/errors.ts';
import type { Identity } from '../../../domain/identity.ts';
import type { Released } from '../../../domain/operator.ts';
import { openClaims } from '../../../domain/store.ts';
import type { WhyAnswer } from '../../../domain/why.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { readForm } from '../../../http/form.ts';
import { givenText } from '../../../http/input.ts';
import { type Ctx, leadTo, type Route } from '../../../http/route.ts';
import { Link } from '../../../report/html/link.tsx';
import { Name } from '../../../report/html/text.tsx';
import { answerPage } from '../../answer.tsx';
import { Act } from '../../parts/act.tsx';
import { ReleasedTable } from '../../parts/released.tsx';
import { askedSubject, pathOf, SUBJECT_PATH, titleOf } from './about.ts';

const exemptForm = z.strictObject({
  reason: givenText,
  owner: givenText,
  for: z.enum(['1d', '7d', '30d']),
  until: z.string().max(100).optional(),
  release: z.literal('yes').optional(),
});
/** `claim`: an open one of the subject, where it is on another target than the subject's own. */
const releaseForm = z.strictObject({ reason: givenText, claim: z.string().max(100).optional() });

export function actionPages(deps: HttpDeps): Route[] {
  return [
    changed('exempt', async (context) => {
      const { owner, reason, until, release, ...form } = await readForm(context, exemptForm);
      const { subject } = await askedSubject(deps, context);
      const request = { ...aboutOf(subject), owner, reason, until: until ?? form.for, release: release === 'yes' };
      const { released } = await deps.operator.exempt({ ...request, unseen: true }, context.var.caller.name);
      return cameOf(deps, context, subject, released);
    }),
    changed('release', async (context) => {
      const { reason, claim } = await readForm(context, releaseForm);
      const { subject } = await askedSubject(deps, context);
      const target = claim === undefined ? ownTarget(subject) : await targetOf(deps, subject, claim);
      const released = await deps.operator.release(target, { by: context.var.caller.name, reason });
      return cameOf(deps, context, subject, released);
    }),
  ];
}

function changed(what: string, handle: Route['handle']): Route {
  return { method: 'POST', path: `${SUBJECT_PATH}/${what}`, scope: 'approve', handle };
}

/** The subject's page shows what was released; what was not is shown at once, since nothing else does. */
function cameOf(deps: HttpDeps, context: Ctx, subject: Identity, released: readonly Released[]) {
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
  if (!claim) throw new AppError('conflict', `claim \`${claimId}\` on this ${kind} is not in force any more`);
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
      {exemption === undefined ? (
        <>
          <h3>Exempt</h3>
          <p class="quiet">
            No action is about {subject.serial === '' ? `this ${subject.kind}` : 'this serial number'} until then. An
            exemption never blocks an undo.
          </p>
          <Act to={`${path}/exempt`} label="Exempt" reason="required" tone="main">
            <label>
              <span>For</span>
              <select name="for">
                <option value="1d">a day</option>
                <option value="7d">7 days</option>
                <option value="30d">30 days</option>
              </select>
            </label>
            <label>
              <span>or until</span>
              <input type="date" name="until" />
            </label>
            <label>
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
            It joined an exemption after that was made. Until a person says yes, it is neither exempt nor acted on.
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
          <p class="quiet">Undoes now what Trustward did to it. It is left alone until a rule matches anew.</p>
          <Act
            to={`${path}/release`}
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
