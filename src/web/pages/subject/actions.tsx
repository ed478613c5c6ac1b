// web: what a person does about a subject: exempt it for a time, release what Trustward did to it, end its exemption. In: forms. Out: the
// subject's page, which shows the change. What it acts on is read from the store, never taken from the form alone.
import { z } from 'zod';
import { AppError } from '../../../domain/errors.ts';
import type { Identity } from '../../../domain/identity.ts';
import { openClaims } from '../../../domain/store.ts';
import type { WhyAnswer } from '../../../domain/why.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { readForm } from '../../../http/form.ts';
import type { Ctx, Route } from '../../../http/route.ts';
import { Name } from '../../../report/html/text.tsx';
import { formPage } from '../../answer.tsx';
import { Act } from '../../parts/act.tsx';
import { askedSubject, pathOf, SUBJECT_PATH } from './about.ts';

const text = z.string().trim().min(1).max(1_000);
const exemptForm = z.strictObject({
  reason: text,
  owner: text,
  for: z.enum(['1d', '7d', '30d']),
  until: z.string().max(100).optional(),
  release: z.literal('yes').optional(),
});
/** `claim`: an open one of the subject, where it is on another target than the subject's own. */
const releaseForm = z.strictObject({ reason: text, claim: z.string().max(100).optional() });

export function actionPages(deps: HttpDeps): Route[] {
  return [
    formPage(`${SUBJECT_PATH}/exempt`, 'approve', async (context) => {
      const form = await readForm(context, exemptForm);
      const { subject } = await askedSubject(deps, context);
      const { owner, reason, until, release } = form;
      const request = { ...aboutOf(subject), owner, reason, until: until ?? form.for, release: release === 'yes' };
      await deps.operator.exempt({ ...request, unseen: true }, by(context));
      return pathOf(subject);
    }),
    formPage(`${SUBJECT_PATH}/release`, 'approve', async (context) => {
      const { reason, claim } = await readForm(context, releaseForm);
      const { subject } = await askedSubject(deps, context);
      const target = claim === undefined ? ownTarget(subject) : await targetOf(deps, subject, claim);
      const released = await deps.operator.release(target, { by: by(context), reason });
      const dry = released.find(({ state }) => state === 'dry_run');
      if (dry)
        throw new AppError('conflict', `nothing was released, since the daemon's mode calls nothing: ${dry.text}`);
      return pathOf(subject);
    }),
  ];
}

function ownTarget({ kind, id, serial }: Identity): string {
  return kind === 'device' ? serial : id;
}

async function targetOf({ reader }: HttpDeps, { kind, id }: Identity, claimId: string): Promise<string> {
  const claim = (await openClaims(reader, { subjectId: id })).find((one) => one.id === claimId);
  if (!claim) throw new AppError('conflict', `claim \`${claimId}\` on this ${kind} is not in force any more`);
  return claim.target;
}

function by(context: Ctx): string {
  return context.var.caller.name;
}

/** A serial number protects it through every new registration. */
function aboutOf({ kind, id, serial }: Identity) {
  return kind === 'device' && serial !== ''
    ? { selector: { field: 'SerialNumber', value: serial } }
    : { subject: { kind, id } };
}

export function ActionsCard({ why, caller }: { why: WhyAnswer; caller: string }) {
  const { subject, claims, exemption } = why;
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
