// web: a person's own page, for somebody whose laptop has just stopped working, on a phone: which of their devices works, what is wrong, how it is
// mended, until when, what was done. In: what a link opens. Out: pages without a script, in plain words. INVARIANT: they lead to no other page.

import { type Child, createContext, useContext } from 'hono/jsx';
import { z } from 'zod';
import { plainUrl } from '../../../base/text.ts';
import { DAY_MS, isoTime, spanText, wallText } from '../../../base/time.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { REQUEST_REASON_MAX, requestStatusAt, requestWords } from '../../../domain/exemption-request.ts';
import type { Fact } from '../../../domain/facts.ts';
import {
  PEOPLE_PATH,
  type PersonCheck,
  type PersonDevice,
  type PersonPage,
  type PersonProblem,
} from '../../../domain/person-link.ts';
import { mountOf } from '../../http/mount.ts';
import { Admission, createPeopleApp, type PeopleDeps } from '../../http/people.ts';
import { Problem, problemOf } from '../../http/problem.ts';
import { type Ctx, leadTo, type Pages, param, readForm } from '../../http/route.ts';
import { actWords, asSentence, factText } from '../../report/fact-text.ts';
import { Base, Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Mark, Name, Words } from '../../report/html/text.tsx';
import { assetPath, assetRoutes, zippedResponse } from '../assets.ts';
import { Ago } from '../parts/figures.tsx';

export function peoplePages(deps: PeopleDeps): Pages {
  const admission = new Admission(deps.clock, deps.people);
  const devices = (context: Ctx, page: PersonPage, said?: Child) => (
    <Zone value={deps.people?.timeZone ?? 'UTC'}>
      <Devices page={page} nowMs={deps.clock.nowMs()} path={pathOf(context)} said={said} />
    </Zone>
  );
  const show = async (context: Ctx) => {
    const page = await admission.open(context);
    return answer(context, headOf(page), devices(context, page));
  };
  const ask = async (context: Ctx) => {
    const page = await admission.open(context);
    try {
      const { device, reason, days } = await readForm(context, askForm);
      await deps.people?.ask({ person: page.person, device, reason, forMs: Number(days) * DAY_MS });
    } catch (error) {
      // What is said is about what they wrote, or about their own requests.
      const problem = problemOf(error);
      if (problem === undefined || problem.status >= 500) throw error;
      const said = (
        <p class="notice bad" role="alert">
          {asSentence(problem.message)}
        </p>
      );
      return answer(context, headOf(page), devices(context, page, said), problem);
    }
    return leadTo(context, pathOf(context));
  };
  const check = async (context: Ctx) => {
    const page = await admission.open(context);
    const { device } = await readForm(context, checkForm);
    const own = page.devices.find(({ id }) => id === device);
    const { people } = deps;
    if (!own || !people) throw new Problem(404, 'not-found', 'Not found', 'the link opens nothing');
    let found: PersonCheck | string;
    try {
      found = await admission.checks.take(() => people.check(page.person, device));
    } catch (error) {
      deps.log.warn({ device }, `a device could not be checked again: ${lineOf(error)}`);
      const isLost = error instanceof AppError && error.code === 'not_found';
      found = isLost ? NOT_THEIRS : 'It could not be checked just now. Try again in a few minutes.';
    }
    // What was mended is over, and the link with it.
    const after = await people.open(param(context, 'link'));
    const seen = { found, name: own.name || own.model || own.serial, nowMs: deps.clock.nowMs() };
    const body = after ? (
      devices(context, after, <Found {...seen} title="Checked again: " />)
    ) : (
      <Zone value={people.timeZone}>
        <h1>Checked again</h1>
        <Found {...seen} />
        {typeof found === 'string' ? null : <p>What the message was about is settled, and its link is closed.</p>}
      </Zone>
    );
    return answer(context, 'Checked again', body);
  };
  return {
    routes: [
      ...assetRoutes(['page.css'], PEOPLE_PATH),
      { method: 'GET', path: `${PEOPLE_PATH}/:link`, scope: undefined, handle: show },
      { method: 'POST', path: `${PEOPLE_PATH}/:link/ask`, scope: undefined, handle: ask },
      { method: 'POST', path: `${PEOPLE_PATH}/:link/check`, scope: undefined, handle: check },
    ],
    problem: (problem, context) => answer(context, ...refusalOf(problem), problem),
  };
}

const NOT_THEIRS = 'The platform does not have it as a device of yours any more, so nothing was done.';

/** Times are named as in mail. */
const Zone = createContext('UTC');

function useTimes(): (at: number) => string {
  const zone = useContext(Zone);
  return (at) => wallText(zone, at);
}

function When({ at }: { at: number }) {
  return <time datetime={isoTime(at)}>{useTimes()(at)}</time>;
}

const pathOf = (context: Ctx) => `${PEOPLE_PATH}/${encodeURIComponent(param(context, 'link'))}`;

/** An app of its own: `isAlone` on its own listener. */
export function peopleApp(deps: PeopleDeps, isAlone: boolean): ReturnType<typeof createPeopleApp> {
  return createPeopleApp(deps, peoplePages(deps), isAlone);
}

const DAYS = ['1', '3', '7', '14', '30'] as const;

const checkForm = z.strictObject({ device: z.string().max(1_000) });

const askForm = z.strictObject({ device: z.string().max(1_000), reason: z.string(), days: z.enum(DAYS) });

// What is said to who cannot be shown the page. INVARIANT: whatever the link lacks, it is one text.

const OVER = [
  'This link opens nothing',
  'It is over, or was never valid. If a device of yours was blocked, that matter is closed, or a newer message has a newer link. If the device still does not work, ask your service desk.',
] as const;
const SAID: Readonly<Record<number, readonly [string, string]>> = {
  404: OVER,
  429: ['One moment', 'This page was asked for too often. Try again in a few minutes.'],
  403: ['This did not work', 'Open the page again with the link of the message, and use the button there.'],
  421: ['This did not work', 'Open the page with the link of the message, exactly as it is there.'],
};
const BROKEN = ['This does not work now', 'The fault is on our side. Try again in a few minutes.'] as const;
const ODD = ['This did not work', 'Open the page again with the link of the message.'] as const;

function refusalOf({ status }: Problem): [string, Child] {
  const [title, text] = SAID[status] ?? (status >= 500 ? BROKEN : ODD);
  const body = (
    <article class="card">
      <h1>{title}</h1>
      <p>{text}</p>
    </article>
  );
  return [title, body];
}

async function answer(context: Ctx, title: string, body: Child, problem?: Problem): Promise<Response> {
  const page = (
    <Base value={mountOf(context)?.base ?? ''}>
      <Whole title={title}>{body}</Whole>
    </Base>
  );
  const headers = { 'Content-Type': 'text/html; charset=utf-8', ...problem?.more.headers };
  return zippedResponse(context, `<!DOCTYPE html>${await page.toString()}`, problem?.status ?? 200, headers);
}

function Whole({ title, children }: { title: string; children: Child }) {
  const at = useAddress();
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={at(`${PEOPLE_PATH}${assetPath('page.css')}`)} />
      </head>
      <body>
        <main class="mine">{children}</main>
      </body>
    </html>
  );
}

// The page.

/** Of the device that the link is about. No name of it: it stands in a tab, and a device chooses its own. */
function headOf({ devices: [first] }: PersonPage): string {
  if (first?.blocked) return 'Your device is blocked';
  if (first?.problems.some(({ deadline }) => deadline !== undefined)) return 'Your device must be mended';
  return first && first.problems.length > 0 ? 'Something is wrong with your device' : 'Your devices';
}

interface FoundProps {
  found: PersonCheck | string;
  title?: string;
  name: string;
  nowMs: number;
}

function Found({ found, title = '', name, nowMs }: FoundProps) {
  const times = useTimes();
  if (typeof found === 'string')
    return (
      <p class="notice wait" role="status">
        {found}
      </p>
    );
  const { rules, isGone, isRepeat, readAt } = found;
  const isOver = rules.every(({ verdict, hasEnded }) => hasEnded || verdict === 'mended');
  return (
    <section class={`notice ${isOver && !isGone ? 'good' : 'wait'}`} role="status">
      <h2>
        {title}
        <Name>{name}</Name>
      </h2>
      <p>
        Read {isRepeat ? 'less than a minute before, ' : ''}
        <When at={readAt} />.
      </p>
      {isGone ? <p>The platform has it no more.</p> : null}
      {!isGone && rules.length === 0 ? <p>Nothing is wrong with it.</p> : null}
      {rules.map((rule) => (
        <p>
          <Words>{rule.title}</Words>: {foundText(rule, times)}{' '}
          {rule.reportedAt === undefined || rule.verdict === 'mended' ? null : (
            <>
              The platform's report of it was made <Ago at={rule.reportedAt} nowMs={nowMs} />. If you have mended it
              since, the next report may take a while.
            </>
          )}
        </p>
      ))}
    </section>
  );
}

function foundText(
  { verdict, hasEnded, isUndone, endsAt }: PersonCheck['rules'][number],
  times: (at: number) => string,
): string {
  if (verdict === 'mended' && isUndone) return 'mended, and the block is lifted.';
  if (hasEnded) return 'mended. That is over.';
  if (verdict === 'mended')
    return endsAt === undefined ? 'mended.' : `mended. If it stays so, it is over at ${times(endsAt)}.`;
  return verdict === 'unknown' ? 'this cannot be told now.' : 'still wrong.';
}

interface DevicesProps {
  page: PersonPage;
  nowMs: number;
  /** Of the page, with the link in it. */
  path: string;
  /** What came of what they just did. */
  said: Child | undefined;
}

function Devices({ page, nowMs, path, said }: DevicesProps) {
  const { devices, more, person } = page;
  return (
    <>
      <h1>{headOf(page)}</h1>
      {said}
      {devices.map((device) => (
        <Device device={device} nowMs={nowMs} path={path} />
      ))}
      {more > 0 ? <p>You have {more} more devices, which are not shown here.</p> : null}
      <p class="quiet">
        This page shows the devices of <Name>{person}</Name> alone. Keep its address to yourself: it opens the page
        without a password.
      </p>
    </>
  );
}

function Device({ device, nowMs, path }: { device: PersonDevice } & Pick<DevicesProps, 'nowMs' | 'path'>) {
  const { id, name, serial, platform, model, blocked, problems, hasOther, factors, done, readAt } = device;
  const what = [model, platform].filter((text) => text !== '');
  return (
    <section class="card">
      <h2>
        <Name>{name || model || serial || 'A device'}</Name>
      </h2>
      <p class="quiet">
        {what.map((text) => (
          <>
            <Name>{text}</Name>,{' '}
          </>
        ))}
        serial number {serial === '' ? 'not known' : <Code>{serial}</Code>}
      </p>
      <p>
        <State blocked={blocked} />
        {readAt === undefined || blocked?.isOurs ? null : (
          <span class="quiet">
            {' '}
            as it was read <Ago at={readAt} nowMs={nowMs} />
          </span>
        )}
      </p>
      {problems.map((problem) => (
        <ProblemPart problem={problem} isBlocked={blocked !== undefined} nowMs={nowMs} />
      ))}
      {hasOther ? (
        <p>
          There is also a reason that is not about this device itself, and is not shown here. Your service desk can tell
          you more.
        </p>
      ) : null}
      {blocked && !blocked.isOurs ? <p>It was blocked by somebody else: ask your service desk.</p> : null}
      {factors.length === 0 ? null : (
        <>
          <h3>What the security platform advises</h3>
          {factors.map(({ text, url }) => (
            <Foreign text={text} url={url} />
          ))}
        </>
      )}
      {done.length === 0 ? null : (
        <>
          <h3>What was done automatically</h3>
          <ul class="list">
            {done.map(({ at, action }) => (
              <li>
                {DONE[action] ?? asSentence(actWords(action, 'it').wasDone)} <When at={at} />
              </li>
            ))}
          </ul>
        </>
      )}
      {problems.length === 0 && blocked?.isOurs !== true ? null : (
        <Form method="post" action={`${path}/check`}>
          <input type="hidden" name="device" value={id} />
          <button type="submit" class="main">
            Check again
          </button>{' '}
          <span class="quiet">after you mended it</span>
        </Form>
      )}
      <Requests device={device} nowMs={nowMs} path={path} />
    </section>
  );
}

/** Asking is offered where something is wrong, and while nothing waits. */
function Requests({ device, nowMs, path }: { device: PersonDevice } & Pick<DevicesProps, 'nowMs' | 'path'>) {
  const { id, problems, blocked, requests } = device;
  const times = useTimes();
  const waits = requests.some((request) => requestStatusAt(request, nowMs) === 'waiting');
  const mayAsk = !waits && (problems.length > 0 || blocked?.isOurs === true);
  if (requests.length === 0 && !mayAsk) return null;
  return (
    <>
      <h3>An exemption</h3>
      {requests.map((request) => (
        <p>
          {requestWords(request, nowMs, times)}
          {request.sentence === undefined ? null : (
            <>
              {' '}
              The answer: “<Words>{request.sentence}</Words>”
            </>
          )}
        </p>
      ))}
      {mayAsk ? (
        <details>
          <summary>Ask for an exemption</summary>
          <Form method="post" action={`${path}/ask`}>
            <input type="hidden" name="device" value={id} />
            <label class="field">
              <span>Why you need it</span>
              <textarea name="reason" rows={4} maxlength={REQUEST_REASON_MAX} required />
            </label>
            <label class="field">
              <span>For how long</span>
              <select name="days">
                {DAYS.map((days) => (
                  <option value={days}>{days === '1' ? 'a day' : `${days} days`}</option>
                ))}
              </select>
            </label>
            <p class="quiet">An operator of your organization reads this, and answers here.</p>
            <button type="submit">Ask</button>
          </Form>
        </details>
      ) : null}
    </>
  );
}

const DONE: Readonly<Record<string, string>> = { ban_device: 'Blocked', unban_device: 'Unblocked' };

function State({ blocked }: Pick<PersonDevice, 'blocked'>) {
  if (!blocked) return <Mark word="works" text="Not blocked" tone="good" />;
  return (
    <>
      <Mark word="blocked" text="Blocked" tone="bad" />
      {blocked.since === undefined ? null : (
        <>
          {' '}
          since <When at={blocked.since} />
        </>
      )}
    </>
  );
}

interface ProblemProps {
  problem: PersonProblem;
  isBlocked: boolean;
  nowMs: number;
}

function ProblemPart({ problem, isBlocked, nowMs }: ProblemProps) {
  const { title, since, isOver, facts, fix, deadline, clearing } = problem;
  const shown = Object.entries(facts);
  return (
    <>
      <h3>{isOver ? 'What was wrong' : 'What is wrong'}</h3>
      <p>
        {fix?.problem === undefined ? (
          <>
            Found by the check “<Words>{title}</Words>”, since{' '}
          </>
        ) : (
          <>
            <strong>
              <Words>{fix.problem}</Words>
            </strong>
            , since{' '}
          </>
        )}
        <When at={since} /> (<Ago at={since} nowMs={nowMs} />
        ).
      </p>
      {shown.length === 0 ? null : (
        <dl class="facts">
          {shown.map(([path, value]) => (
            <>
              <dt>{factLabel(path)}</dt>
              <dd>
                <Name>{factValue(path, value, nowMs)}</Name>
              </dd>
            </>
          ))}
        </dl>
      )}
      {isOver && clearing === undefined ? (
        <p class="notice good">
          It is no longer so. {isBlocked ? 'The block has not been lifted: ask your service desk.' : null}
        </p>
      ) : null}
      {deadline === undefined || isBlocked || isOver ? null : (
        <p class="notice wait">
          {deadline.dueAt > nowMs ? (
            <>
              If it is not mended by <When at={deadline.dueAt} />, {deadline.warnText ?? 'your organization acts on it'}
              . You have {spanText(deadline.dueAt - nowMs)}.
            </>
          ) : (
            <>
              It was to be mended by <When at={deadline.dueAt} />.
            </>
          )}
        </p>
      )}
      {clearing === undefined ? null : (
        <p class="notice good">
          It looks mended since <When at={clearing.since} />.{' '}
          {isBlocked ? (
            <>
              If that stays so, the block ends after <When at={clearing.until} />.
            </>
          ) : null}
        </p>
      )}
      {fix === undefined || isOver ? null : (
        <>
          <h4>How to mend it</h4>
          <p>
            <Words>{fix.text}</Words>
          </p>
          {fix.url === undefined ? null : (
            <p>
              <Link href={fix.url} rel="noreferrer">
                <Name>{fix.url}</Name>
              </Link>
            </p>
          )}
        </>
      )}
    </>
  );
}

/** A text of others, and an address that it names, which is no link here: nobody of us vouches for where it leads. */
function Foreign({ text, url }: { text: string; url: string | undefined }) {
  const address = plainUrl(url);
  return (
    <blockquote>
      <Words>{text}</Words>
      {address === undefined ? null : (
        <>
          {' '}
          (it names the address <Code>{address}</Code>)
        </>
      )}
    </blockquote>
  );
}

const GROUPS: Readonly<Record<string, string>> = { MdmData: 'device management', TrustData: 'trust' };

/** `MdmData.CompromisedStatus` → `Compromised status (device management)`; `OS` stays. */
function factLabel(path: string): string {
  const [first = '', field = first] = path.split('.');
  const words = field.replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  const label = /^[A-Z]+$/.test(words) ? words : asSentence(words.toLowerCase());
  return field !== first && GROUPS[first] !== undefined ? `${label} (${GROUPS[first]})` : label;
}

function factValue(path: string, value: Fact, nowMs: number): string {
  if (value === null) return 'not known';
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return /^t/i.test(value) ? 'yes' : 'no';
  const text = factText(path, value, nowMs);
  return typeof value === 'string' && text.startsWith('"') ? value : text;
}
