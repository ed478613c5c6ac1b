// web: an exemption that a person asks for, with forms to grant or refuse it. In: the store, forms. Out: a page that works without JavaScript.
// INVARIANT: the names and the reason are of a device and its user: they are shown as text, and never as a link of theirs.

import type { Child } from 'hono/jsx';
import { spanText } from '../../../base/time.ts';
import type { ExemptionRequestShown } from '../../../contract/nouns.ts';
import { REQUESTS } from '../../../contract/operator.ts';
import { AppError } from '../../../domain/errors.ts';
import { GRANT_UNDOES_NOTHING, REQUEST_REASON_MAX } from '../../../domain/exemption-request.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { operationsOf, param, type Route, readForm } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { asSentence } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Mark, Name, When, Words } from '../../report/html/text.tsx';
import { requestTitle } from '../../report/inbox.ts';
import { requestView } from '../../report/plan-view.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Live, Said, Whole } from '../parts/act.tsx';
import { rulePath } from './rules.tsx';

export const REQUESTS_PATH = '/exemptions/requests';
const LIVE = 'exemption claim';

export function requestPages(deps: HttpDeps): Route[] {
  const pathOf = (id: string) => `${REQUESTS_PATH}/${encodeURIComponent(id)}`;
  return [
    readPage(deps, `${REQUESTS_PATH}/:id`, async (context) => {
      const id = param(context, 'id');
      const request = await deps.reader.exemptionRequest(id);
      if (request?.id !== id) throw new AppError('not_found', `there is no request \`${id}\``);
      const shown = await requestView(deps.reader, request, deps.clock.nowMs());
      const title = requestTitle(request);
      return {
        title,
        section: '/exemptions',
        live: LIVE,
        body: (
          <>
            <h1>
              <Name>{title}</Name>
            </h1>
            <Live id="request" on={LIVE} path={pathOf(id)}>
              {described(shown)}
            </Live>
            {shown.status === 'waiting' && mayDo(context, 'approve') ? <Answers path={pathOf(id)} /> : null}
          </>
        ),
      };
    }),
    formPage(deps, `${REQUESTS_PATH}/:id/grant`, 'approve', async (context) => {
      const form = await readForm(context, REQUESTS.grantRequest.body);
      return pathOf((await operationsOf(deps, context).grantRequest({ id: param(context, 'id'), ...form })).id);
    }),
    formPage(deps, `${REQUESTS_PATH}/:id/refuse`, 'approve', async (context) => {
      const form = await readForm(context, REQUESTS.refuseRequest.body);
      return pathOf((await operationsOf(deps, context).refuseRequest({ id: param(context, 'id'), ...form })).id);
    }),
  ];
}

function described({ device, serial, name, rule, ...request }: ExemptionRequestShown) {
  const { person, status, answeredAt, exemptUntil, inForce } = request;
  const path = subjectPath('device', device);
  const facts: [term: string, shown: Child][] = [
    [
      'device',
      [<Link href={path}>{<Name>{name || serial || device}</Name>}</Link>, ' ', <Code>{serial || device}</Code>],
    ],
    ['rule', rule === null ? 'none matched it when it was asked' : <Link href={rulePath(rule)}>{rule}</Link>],
    ['asked, expires', [<When at={request.askedAt} />, ', ', <When at={request.expiresAt} />]],
  ];
  if (answeredAt !== null)
    facts.push(
      ['answered', [<Name>{request.answeredBy ?? 'somebody'}</Name>, ', ', <When at={answeredAt} />]],
      ['what the person reads', <Words>{request.sentence ?? 'nothing'}</Words>],
    );
  if (exemptUntil !== null)
    facts.push(['exempt until', [<When at={exemptUntil} />, ' ', <Code>{request.exemption ?? ''}</Code>]]);
  return (
    <>
      <section class="card">
        <p class="lead">
          <Mark word={status} /> <Name>{person}</Name> asks that this device is left alone for{' '}
          {spanText(1_000 * request.forSeconds)}.
        </p>
        <Whole max={REQUEST_REASON_MAX}>{request.reason}</Whole>
        <dl class="facts">
          {facts.map(([term, shown]) => (
            <>
              <dt>{term}</dt>
              <dd>{shown}</dd>
            </>
          ))}
        </dl>
      </section>
      {inForce.length === 0 ? null : (
        <section class="card">
          <h2>In force on this device</h2>
          <p>{asSentence(GRANT_UNDOES_NOTHING)}.</p>
          <ul>
            {inForce.map(({ action, target, command }) => (
              <li>
                <Words>{`${action} ${target}`}</Words>: <Code>{command}</Code>
              </li>
            ))}
          </ul>
          <Link class="button" href={`${path}#actions`}>
            Release it on the page of the device
          </Link>
        </section>
      )}
    </>
  );
}

const SPANS = { '': 'as asked for', '1d': 'a day', '7d': 'a week', '30d': '30 days' };

function Answers({ path }: { path: string }) {
  return (
    <section class="card">
      <h2>Answer</h2>
      <p>
        The exemption covers this device for all rules, from now on. It holds back new actions, and never blocks an
        undo. The reason is for the records alone.
      </p>
      <h3>Grant</h3>
      <AnswerForm to={`${path}/grant`} label="Grant" tone="main">
        <label class="field">
          <span>For</span>
          <select name="until">
            {Object.entries(SPANS).map(([span, words]) => (
              <option value={span}>{words}</option>
            ))}
          </select>
        </label>
      </AnswerForm>
      <h3>Refuse</h3>
      <AnswerForm to={`${path}/refuse`} label="Refuse" tone="danger" />
    </section>
  );
}

/** Both answers take the same words. */
function AnswerForm({ to, label, tone, children }: { to: string; label: string; tone: string; children?: Child }) {
  return (
    <Form class="act" method="post" action={to}>
      <label class="field">
        <span>
          What the person reads<span class="unseen"> to {label.toLowerCase()}</span>
        </span>
        <input type="text" name="say" required maxlength={400} size={50} />
      </label>
      {children}
      <Said of={REQUESTS.refuseRequest} label={label} reason="optional" isField="short" max={400} />
      <button type="submit" class={tone}>
        {label}
      </button>
    </Form>
  );
}
