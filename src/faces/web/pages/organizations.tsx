// web: the pages of an endpoint of several organizations: choosing one, and signing in. In: what a person may choose from. Out: pages that
// work without JavaScript. INVARIANT: who is not signed in sees the name of no organization.
import type { Choice, OrganizationsPages } from '../../http/organizations/opened.ts';
import { signInRoutes } from '../../http/routes/sign-in.ts';
import { countText } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Mark, Name, Table, Words } from '../../report/html/text.tsx';
import { openPage, problemPage } from '../answer.tsx';
import { assetRoutes } from '../assets.ts';
import { createPages } from '../index.ts';
import { CHOOSER_PATH, type PageContent } from '../layout.tsx';
import { peoplePages } from './mine.tsx';
import { signInPages } from './sign-in.tsx';

const OPEN = { demo: false };

export function createOrganizationsPages(): OrganizationsPages {
  return {
    of: createPages,
    people: peoplePages,
    open: (parts) => [
      ...assetRoutes(),
      ...signInPages({
        ...parts,
        opensByCommand: false,
        answer: (context, content) => openPage(OPEN, context, content),
      }),
      ...signInRoutes({ ...parts, opensByCommand: false }),
    ],
    choose: (context, choice) => openPage(OPEN, context, chooser(choice)),
    problem: (problem, context) => problemPage(OPEN, problem, context),
  };
}

function chooser({ organizations, total, text }: Choice): PageContent {
  return {
    title: 'Organizations',
    body: (
      <article class="card">
        <h1>Organizations</h1>
        <search>
          <Form class="act" method="get" action={CHOOSER_PATH}>
            <label>
              <span class="unseen">Name or id</span>
              <input type="search" name="q" value={text} placeholder="Name or id" maxlength={200} />
            </label>
            <button type="submit">Show</button>
            {text === undefined ? null : <Link href={CHOOSER_PATH}>Show all {countText(total)}</Link>}
          </Form>
        </search>
        <Table
          caption={`${countText(organizations.length)} of ${countText(total)}`}
          columns={['Organization', 'Id', 'Configuration']}
          rows={organizations.map(({ id, name, problem }) => ({
            cells: [
              <Link href={`${CHOOSER_PATH}/${id}/`}>
                <Name>{name}</Name>
              </Link>,
              <Code>{id}</Code>,
              problem === undefined ? (
                <Mark word="ready" text="in order" tone="good" />
              ) : (
                <>
                  <Mark word="problem" tone="bad" /> <Words>{problem}</Words>
                </>
              ),
            ],
          }))}
          empty={text === undefined ? 'There is none.' : 'None has this in its name or id.'}
        />
        <Form class="act" method="post" action="/sign-out">
          <button type="submit">Sign out</button>
        </Form>
      </article>
    ),
  };
}
