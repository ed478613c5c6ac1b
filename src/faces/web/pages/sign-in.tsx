// web: signing in: by a link that works once, or by a token. In: the code of a link. Out: a form. Looking at it uses nothing up: only
// its button does, since previews of links read addresses.
import type { Child } from 'hono/jsx';
import { z } from 'zod';
import { baseOf } from '../../http/mount.ts';
import type { Persons } from '../../http/persons.ts';
import { type Ctx, type Route, readQuery } from '../../http/route.ts';
import type { SignInParts } from '../../http/routes/sign-in.ts';
import { RETURN_MAX } from '../../http/sign-in.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Name, Words } from '../../report/html/text.tsx';
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
          caller === undefined ? (
            <>
              <ByProvider persons={signInAt(context).persons} to={`${baseOf(context)}${to ?? '/'}`} />
              <TokenForm to={to} {...(code === undefined ? { opensByCommand } : { wrong: USED })} />
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
        return answer(context, { title: 'Sign in', body: <SignInCard>{body}</SignInCard> });
      },
    },
  ];
}

/** The way that most people go, so it comes first. A link and no form: a form may not lead to another site. */
function ByProvider({ persons, to }: { persons: Persons | undefined; to: string }) {
  if (!persons) return null;
  return (
    <p>
      <a class="button main" href={persons.beginAt(to)}>
        Sign in at <Name>{persons.host}</Name>
      </a>
    </p>
  );
}

const USED = 'This link was used already, or is older than ten minutes.';

/** What was wrong with a token or a link, and the form to try again. */
export function wrongSignIn(wrong: string, to: string) {
  return (
    <SignInCard>
      <TokenForm to={to} wrong={wrong} />
      <p>
        <Link href={`/sign-in?to=${encodeURIComponent(to)}`}>Every way to sign in</Link>
      </p>
    </SignInCard>
  );
}

function SignInCard({ children }: { children: Child }) {
  return (
    <article class="card sign-in">
      <h1>Trustward</h1>
      {children}
    </article>
  );
}

interface TokenFormProps {
  to: string | undefined;
  opensByCommand?: boolean;
  wrong?: string;
}

function TokenForm({ to, opensByCommand = false, wrong }: TokenFormProps) {
  return (
    <>
      {wrong !== undefined ? (
        <div class="notice bad" role="alert" id="wrong">
          <Words>{wrong}</Words>
        </div>
      ) : opensByCommand ? (
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
          <input
            type="password"
            name="token"
            required
            autocomplete="off"
            maxlength={512}
            {...(wrong !== undefined && { 'aria-invalid': 'true', 'aria-describedby': 'wrong', autofocus: true })}
          />
        </label>
        <button type="submit" class="main">
          Sign in
        </button>
      </Form>
    </>
  );
}
