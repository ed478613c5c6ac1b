// web: what every page has: head, navigation, the box to search, who is signed in, and bands that nobody overlooks: DEMO, stopped. In: a
// page's content. Out: a whole document. It has no inline script or style.

import type { Child } from 'hono/jsx';
import { shownName } from '../../base/text.ts';
import { STREAM_PATH } from '../../contract/endpoint.ts';
import { SWITCHES } from '../../contract/operator.ts';
import { personOf } from '../../domain/actor.ts';
import type { Caller, Scope } from '../../domain/endpoint-token.ts';
import { type Stop, stopText } from '../../domain/operator.ts';
import { DEMO_WORDS } from '../../domain/run.ts';
import type { Mount } from '../http/mount.ts';
import { includesScope } from '../http/sign-in.ts';
import { countText, showHidden } from '../report/fact-text.ts';
import { Base, Form, Link, useAddress } from '../report/html/link.tsx';
import { By, Name, Words } from '../report/html/text.tsx';
import { type AssetName, assetPath } from './assets.ts';
import { Act, BADGE } from './parts/act.tsx';

/** Where in the navigation a page belongs. `key`: leads there after `g`. */
export const SECTIONS = [
  { path: '/', text: 'Overview', key: 'o' },
  { path: '/inbox', text: 'Inbox', key: 'b' },
  { path: '/plans', text: 'Plans', key: 'p' },
  { path: '/runs', text: 'Runs', key: 'r' },
  { path: '/devices', text: 'Fleet', key: 'f' },
  { path: '/rules', text: 'Rules', key: 'u' },
  { path: '/in-force', text: 'In force', key: 'i' },
  { path: '/exemptions', text: 'Exemptions', key: 'e' },
  { path: '/audit', text: 'Audit', key: 'a' },
  { path: '/health', text: 'Health', key: 'h' },
  { path: '/tokens', text: 'Tokens', scope: 'admin' },
] as const satisfies readonly { path: string; text: string; key?: string; scope?: Scope }[];

export type Section = (typeof SECTIONS)[number]['path'];

export interface PageContent {
  title: string;
  body: Child;
  section?: Section;
  /** Families of audit kinds on which its live parts read themselves again, such as `run plan`. */
  live?: string;
  /** The audit entry after which its live parts may be out of date. */
  liveAfter?: number;
  /** What stands in the box to search. */
  find?: string;
}

export interface PageContext {
  /** Undefined: nobody is signed in. */
  caller: Caller | undefined;
  demo: boolean;
  stop: Stop | undefined;
  /** In the inbox. */
  waiting: number;
  /** Undefined: the endpoint has one organization alone. */
  mount: Mount | undefined;
}

/** Where a person chooses among organizations. INVARIANT: the one link of an organization's pages that leaves its base. */
export const CHOOSER_PATH = '/orgs';

export function Layout({ content, context }: { content: PageContent; context: PageContext }) {
  return (
    <Base value={context.mount?.base ?? ''}>
      <WholePage content={content} context={context} />
    </Base>
  );
}

function WholePage({ content, context }: { content: PageContent; context: PageContext }) {
  const at = useAddress();
  const { title, body, live, section, find } = content;
  const { caller, demo, stop, waiting, mount } = context;
  const scripts: AssetName[] = ['filter.js', ...(caller ? (['htmx.js', 'page.js'] as const) : [])];
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={HTMX_CONFIG} />
        <title>{`${showHidden(shownName(title))} · ${mount ? `${showHidden(mount.organization.name)} · ` : ''}Trustward${demo ? ' DEMO' : ''}`}</title>
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={at(assetPath('page.css'))} />
        {scripts.map((name) => (
          <script src={at(assetPath(name))} defer></script>
        ))}
      </head>
      <body
        class={caller ? 'in' : undefined}
        data-live={caller ? live : undefined}
        data-live-after={live === undefined ? undefined : content.liveAfter}
        data-stream={caller && live !== undefined ? at(STREAM_PATH) : undefined}
      >
        <Link class="skip" href="#main">
          Skip to the content
        </Link>
        <header>
          {demo ? <div class="demo-line">{DEMO_WORDS}</div> : null}
          {stop ? <StopLine stop={stop} caller={caller} /> : null}
          {caller ? <Top caller={caller} find={find} mount={mount} stopped={stop !== undefined} /> : null}
        </header>
        {caller ? <Nav caller={caller} section={section} waiting={waiting} /> : null}
        <main id="main" tabindex={-1}>
          {body}
        </main>
        <footer class="quiet">
          <Link href="/guide/glossary.html">What the words mean</Link>
        </footer>
        {caller ? <Keys /> : null}
      </body>
    </html>
  );
}

const HTMX_CONFIG = JSON.stringify({
  includeIndicatorStyles: false,
  allowEval: false,
  allowScriptTags: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
});

const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#2f62d8" d="M8 0l6 2v6c0 4-3 6.500-6 8-3-1.500-6-4-6-8V2z"/></svg>',
  );

function StopLine({ stop, caller }: { stop: Stop; caller: Caller | undefined }) {
  return (
    <div class="stop-line" role="alert">
      STOPPED. <Words>{stopText(stop)}</Words>. Runs judge, and nothing is called.
      {caller && includesScope(caller.scope, 'approve') ? (
        <Act to="/resume" of={SWITCHES.resume} label="Resume" reason="required" />
      ) : null}
    </div>
  );
}

interface TopProps extends Pick<PageContent, 'find'>, Pick<PageContext, 'mount'> {
  caller: Caller;
  stopped: boolean;
}

function Top({ caller, find, mount, stopped }: TopProps) {
  return (
    <div class="top">
      {mount ? (
        <div class="organization">
          <span class="unseen">Organization: </span>
          <b title={showHidden(shownName(mount.organization.name))}>
            <Name>{mount.organization.name}</Name>
          </b>
          <a href={CHOOSER_PATH}>Other organizations</a>
        </div>
      ) : null}
      <div class="top-in">
        <Link class="brand" href="/">
          Trustward
        </Link>
        <label class="menu button" for="menu">
          Menu
        </label>
        <search class="find">
          <Form action="/search" method="get">
            <label class="unseen" for="find">
              Serial number, name, e-mail or service
            </label>
            <input
              id="find"
              type="search"
              name="q"
              value={find}
              placeholder="Serial, name, e-mail, service"
              maxlength={1000}
            />
          </Form>
        </search>
        <div class="user">
          <span class="quiet who-name" title={`${showHidden(shownName(caller.name))} (${caller.scope})`}>
            <By>{caller.name}</By> ({caller.scope})
          </span>
          {personOf(caller.name) && includesScope(caller.scope, 'approve') ? (
            <Link href="/passkeys">Passkeys</Link>
          ) : null}
          <Link href="/guide/">Guide</Link>
          <button type="button" class="link" data-keys hidden>
            Keys
          </button>
          <Form method="post" action="/sign-out">
            <button type="submit" class="link">
              Sign out
            </button>
          </Form>
        </div>
        {!stopped && includesScope(caller.scope, 'approve') ? <StopSwitch /> : null}
      </div>
    </div>
  );
}

function StopSwitch() {
  return (
    <details class="stop">
      <summary class="button danger">Stop</summary>
      <div class="card">
        <h2>Stop everything</h2>
        <p>All actions stop now, including those of a run in progress. Runs go on judging.</p>
        <Act to="/stop" of={SWITCHES.stop} label="Stop everything" reason="required" tone="danger" />
      </div>
    </details>
  );
}

/** On a narrow screen a box that is ticked by its label opens it, so that no script is needed. */
function Nav({
  caller,
  section,
  waiting,
}: Pick<TopProps, 'caller'> & Pick<PageContent, 'section'> & Pick<PageContext, 'waiting'>) {
  return (
    <nav class="side" aria-label="Pages">
      <input type="checkbox" id="menu" class="unseen" aria-label="Menu" />
      <div class="nav">
        {SECTIONS.filter((one) => !('scope' in one) || includesScope(caller.scope, one.scope)).map(
          ({ path, text, ...one }) => (
            <Link
              href={path}
              aria-current={path === section ? 'page' : undefined}
              data-key={'key' in one ? one.key : undefined}
            >
              {text}
              {path === '/inbox' ? <InboxBadge waiting={waiting} /> : null}
            </Link>
          ),
        )}
      </div>
    </nav>
  );
}

/** Live parts of any page bring it with them: see `Live`. */
function InboxBadge({ waiting }: { waiting: number }) {
  return (
    <span id={BADGE}>
      {waiting === 0 ? null : (
        <span class="count">
          {countText(waiting)}
          <span class="unseen"> waiting</span>
        </span>
      )}
    </span>
  );
}

function Keys() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>search</dd>
        <dt>
          <kbd>j</kbd> <kbd>k</kbd>
        </dt>
        <dd>next and previous row</dd>
        <dt>
          <kbd>Enter</kbd>
        </dt>
        <dd>open what the row leads to</dd>
        {SECTIONS.flatMap((one) =>
          'key' in one
            ? [
                <dt>
                  <kbd>g</kbd> <kbd>{one.key}</kbd>
                </dt>,
                <dd>{one.text}</dd>,
              ]
            : [],
        )}
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>this list</dd>
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>leave a field, close this list</dd>
      </dl>
      <Form method="dialog">
        <button type="submit">Close</button>
      </Form>
    </dialog>
  );
}
