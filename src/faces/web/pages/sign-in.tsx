// web: signing in: by a link that works once, or by a token. In: the code of a link. Out: a form. Looking at it uses nothing up: only
// its button does, since previews of links read addresses.
import { z } from 'zod';
import { type Ctx, type Route, readQuery } from '../../http/route.ts';
import type { SignInParts } from '../../http/routes/sign-in.ts';
import { RETURN_MAX } from '../../http/sign-in.ts';
import { Form } from '../../report/html/link.tsx';
import { Name } from '../../report/html/text.tsx';
import type { PageContent } from '../layout.tsx';

const query = z.strictObject({ code: z.string().max(200).optional(), to: z.string().max(RETURN_MAX).optional() });

interface SignInPageParts extends Pick<SignInParts, 'signInAt' | 'opensByCommand'> {
  answer(context: Ctx, content: PageContent): Promise<Response>;
}

export function signInPages({ signInAt, opensByCommand, answer }: SignInPageParts): Route[] {
  return [
    {
      method: 'GET',
      path: '/sign-in',
      scope: undefined,
      handle: async (context) => {
        const { code, to } = readQuery(context, query);
        const caller = code === undefined ? undefined : await signInAt(context).peek(code);
        const body =
          code === undefined ? (
            <TokenForm to={to} opensByCommand={opensByCommand} />
          ) : caller === undefined ? (
            <>
              <div class="notice bad" role="alert">
                This link was used already, or is older than ten minutes.
              </div>
              <TokenForm to={to} opensByCommand={opensByCommand} />
            </>
          ) : (
            <Form method="post" action="/sign-in">
              <input type="hidden" name="code" value={code} />
              <input type="hidden" name="to" value={to ?? '/'} />
              <p>
                You will be signed in as{' '}
                <b>
                  <Name>{caller.name}</Name>
                </b>{' '}
                with scope <b>{caller.scope}</b>. The link works once.
              </p>
              <button type="submit" class="main" autofocus>
                Sign in
              </button>
            </Form>
          );
        return answer(context, {
          title: 'Sign in',
          body: (
            <article class="card sign-in">
              <h1>Trustward</h1>
              {body}
            </article>
          ),
        });
      },
    },
  ];
}

function TokenForm({ to, opensByCommand }: { to: string | undefined; opensByCommand: boolean }) {
  return (
    <>
      {opensByCommand ? (
        <p>
          On the machine of the daemon, <code>trustward open</code> makes a link that signs you in. Or use a token of
          the endpoint:
        </p>
      ) : (
        <p>
          Sign in with a token. <code>trustward tokens add</code> makes one:
        </p>
      )}
      <Form method="post" action="/sign-in">
        <input type="hidden" name="to" value={to ?? '/'} />
        <label class="field">
          <span>Token</span>
          <input type="password" name="token" required autocomplete="off" maxlength={512} />
        </label>
        <button type="submit" class="main">
          Sign in
        </button>
      </Form>
    </>
  );
}
