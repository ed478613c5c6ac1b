// web: the passkeys of the person who is signed in, and what asks for one where a plan is answered. In: forms, with what the browser's authenticator signed.
// Out: pages and fields. Who has scope `admin` removes those that others lost.
import type { Child } from 'hono/jsx';
import { z } from 'zod';
import { nameField } from '../../../contract/operation.ts';
import { personOf } from '../../../domain/actor.ts';
import { GIVEN_TEXT_MAX } from '../../../domain/operator.ts';
import type { Passkey } from '../../../domain/passkey.ts';
import type { HttpDeps } from '../../http/deps.ts';
import {
  askRegistration,
  askTouch,
  ownPasskeys,
  partyOf,
  REGISTRATION_TEXT_MAX,
  registeredId,
  registeredKey,
  TOUCH_TEXT_MAX,
  takeTouch,
} from '../../http/passkeys.ts';
import { askingOf, type Ctx, param, type Route, readForm } from '../../http/route.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Name, Table, When, Words } from '../../report/html/text.tsx';
import { answerPage, formPage, mayDo } from '../answer.tsx';
import { Act } from '../parts/act.tsx';

export const PASSKEYS_PATH = '/passkeys';

export const touchField = z.string().max(TOUCH_TEXT_MAX).optional();
const added = z.strictObject({
  name: nameField,
  response: z.string().max(REGISTRATION_TEXT_MAX).optional(),
  nonce: z.string().max(100).optional(),
  touch: touchField,
});
const removed = z.strictObject({ reason: z.string().trim().max(GIVEN_TEXT_MAX).optional(), touch: touchField });

export function passkeyPages(deps: HttpDeps): Route[] {
  const asks = (path: string, ask: (context: Ctx) => Promise<Response>): Route => ({
    ...{ method: 'POST', path, scope: 'approve' },
    handle: ask,
  });
  const pathOf = (verb: string) => `${PASSKEYS_PATH}/:id/${verb}`;
  return [
    {
      ...{ method: 'GET', path: PASSKEYS_PATH, scope: 'approve' },
      handle: async (context) => answerPage(deps, context, { title: 'Passkeys', body: await listed(deps, context) }),
    },
    asks(`${PASSKEYS_PATH}/begin`, async (context) => {
      await readForm(context, added);
      return askRegistration(deps, context);
    }),
    asks(`${PASSKEYS_PATH}/touch`, async (context) => {
      const { response = '' } = await readForm(context, added);
      return askTouch(deps, context, 'add', { of: registeredId(response), digest: '' });
    }),
    formPage(deps, PASSKEYS_PATH, 'approve', async (context) => {
      const { name, touch, response = '', nonce = '' } = await readForm(context, added);
      const key = await registeredKey(deps, context, { response, nonce });
      await takeTouch(deps, context, touch);
      await deps.passkeys.add({ ...key, name }, askingOf(context));
      return PASSKEYS_PATH;
    }),
    asks(pathOf('touch'), async (context) => {
      await readForm(context, removed);
      return askTouch(deps, context, 'remove', { of: param(context, 'id'), digest: '' });
    }),
    formPage(deps, pathOf('remove'), 'approve', async (context) => {
      const { reason, touch } = await readForm(context, removed);
      await takeTouch(deps, context, touch);
      await deps.passkeys.remove(param(context, 'id'), { ...askingOf(context), reason }, mayDo(context, 'admin'));
      return PASSKEYS_PATH;
    }),
  ];
}

async function listed(deps: HttpDeps, context: Ctx) {
  const own = await ownPasskeys(deps, context);
  const isOwn = new Set(own.map(({ id }) => id));
  const all = mayDo(context, 'admin') ? await deps.passkeys.all() : [];
  const others = all.filter(({ id, removedAt }) => removedAt === undefined && !isOwn.has(id));
  return (
    <>
      <h1>Passkeys</h1>
      <p>
        Whoever has a passkey approves a plan and breaks the glass with it alone: a PIN, a finger or a face at a device
        that they hold. What it signed is in the audit.
      </p>
      <Register {...{ deps, context }} hasOne={own.length > 0} />
      <section class="card" id="own">
        <h2>Yours</h2>
        <Keys keys={own} caption="Your passkeys" hasOne={own.length > 0} />
      </section>
      {others.length === 0 ? null : (
        <section class="card" id="others">
          <h2>Of others</h2>
          <p class="quiet">Remove one that was lost. Its owner can then register another.</p>
          <Keys keys={others} caption="Passkeys of others" hasOne={own.length > 0} isOfOthers />
        </section>
      )}
    </>
  );
}

function Register({ deps, context, hasOne }: { deps: HttpDeps; context: Ctx; hasOne: boolean }) {
  const at = useAddress();
  const party = partyOf(deps);
  const why =
    typeof party === 'string'
      ? `There are no passkeys here: ${party}.`
      : personOf(context.var.caller.name)
        ? undefined
        : 'Passkeys are of persons who sign in at the identity provider: a token or a link has none.';
  if (why !== undefined)
    return (
      <div class="notice wait">
        <Words>{why}</Words>
      </div>
    );
  return (
    <section class="card">
      <h2>Register a passkey</h2>
      <Form class="act" method="post" action={PASSKEYS_PATH} data-register={at(`${PASSKEYS_PATH}/begin`)}>
        <input type="hidden" name="response" />
        <input type="hidden" name="nonce" />
        {hasOne ? <TouchField path={`${PASSKEYS_PATH}/touch`} /> : null}
        <label class="field">
          <span>Name, such as that of the device</span>
          <input type="text" name="name" required maxlength={64} autocomplete="off" />
        </label>
        <button type="submit" class="main">
          Register
        </button>
      </Form>
      <noscript>
        <p>Registering needs JavaScript: the browser asks the device for the key.</p>
      </noscript>
      {hasOne ? <p class="quiet">The browser asks twice: for the new one, then for one that you have.</p> : null}
    </section>
  );
}

interface KeysProps {
  keys: readonly Passkey[];
  caption: string;
  /** The person who removes it has one. */
  hasOne: boolean;
  isOfOthers?: boolean;
}

function Keys({ keys, caption, hasOne, isOfOthers }: KeysProps) {
  return (
    <Table
      caption={caption}
      columns={['Passkey', ...(isOfOthers ? ['Whose'] : []), 'Of the page', 'Registered', 'Used last', 'Remove']}
      rows={keys.map(({ id, name, email, origin, addedAt, usedAt }) => ({
        cells: [
          <Name>{name}</Name>,
          ...(isOfOthers ? [<Name>{email}</Name>] : []),
          <Code>{origin}</Code>,
          <When at={addedAt} />,
          usedAt === undefined ? 'never' : <When at={usedAt} />,
          <Act
            to={`${PASSKEYS_PATH}/${encodeURIComponent(id)}/remove`}
            label="Remove"
            tone="danger"
            confirm={`Remove the passkey ${name}?`}
            isFolded
            {...(isOfOthers && { reason: 'required' as const })}
          >
            {hasOne ? <TouchField path={`${PASSKEYS_PATH}/${encodeURIComponent(id)}/touch`} /> : null}
          </Act>,
        ],
      }))}
      empty="You have none."
    />
  );
}

/** In a form that a passkey signs: before it is sent, the page asks there what to sign. */
function TouchField({ path }: { path: string }) {
  return (
    <>
      <input type="hidden" name="touch" data-touch={useAddress()(path)} />
      <noscript>
        <p class="quiet">
          You have a passkey, and the browser asks for it with JavaScript alone: without, this is refused.
        </p>
      </noscript>
    </>
  );
}

/** What stands in the form that answers a plan. `isAsked`: only a yes with a passkey counts. */
export async function touchPart(deps: HttpDeps, context: Ctx, path: string, isAsked: boolean): Promise<Child> {
  // Where the table was edited, answering says so.
  const own = await ownPasskeys(deps, context).catch(() => []);
  const party = partyOf(deps);
  if (own.some(({ origin }) => typeof party === 'object' && origin === party.origin)) return <TouchField path={path} />;
  const [other] = own;
  if (other)
    return (
      <p class="quiet">
        Your passkeys are of <Code>{other.origin}</Code>, and this is another page: whoever has scope admin{' '}
        <Link href={PASSKEYS_PATH}>removes them</Link>.
      </p>
    );
  if (!isAsked) return null;
  return (
    <p class="quiet">
      Only a yes with a passkey counts here. You have none: <Link href={PASSKEYS_PATH}>register one</Link> first.
    </p>
  );
}
