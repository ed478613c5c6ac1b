// web: exemptions that persons ask for: all of them, and each with its forms to grant or refuse it. In: the store, forms. Out: pages that work
// without JavaScript. INVARIANT: names and reasons are of devices and their users: they are shown as text, and never as a link of theirs.

import { z } from 'zod';
import { shownName } from '../../../base/text.ts';
import { spanText } from '../../../base/time.ts';
import type { ExemptionRequestShown } from '../../../contract/nouns.ts';
import { nameField } from '../../../contract/operation.ts';
import { REQUESTS } from '../../../contract/operator.ts';
import { AppError } from '../../../domain/errors.ts';
import {
  type ExemptionRequest,
  expiresAtOf,
  GRANT_UNDOES_NOTHING,
  type RequestStatus,
  requestStatusAt,
} from '../../../domain/exemption-request.ts';
import { nextOf } from '../../../domain/store-ports.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { operationsOf, param, type Route, readForm, readSearch } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { asSentence, countText } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Mark, Name, Table, When, Words } from '../../report/html/text.tsx';
import { requestTitle } from '../../report/inbox.ts';
import { requestView } from '../../report/plan-view.ts';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Live, Pager, Said, Whole } from '../parts/act.tsx';

export const REQUESTS_PATH = '/exemptions/requests';
const SECTION = '/exemptions';
const LIVE = 'exemption claim';
const PAGE = 50;
const REASON_SHOWN = 500;

const query = z.strictObject({ before: nameField.optional() });

const TONES = { waiting: 'wait', granted: 'good', refused: 'bad', withdrawn: 'calm', expired: 'calm' } as const;

export function requestPages(deps: HttpDeps): Route[] {
  const pathOf = (id: string) => `${REQUESTS_PATH}/${encodeURIComponent(id)}`;
  return [
    readPage(deps, REQUESTS_PATH, async (context) => ({
      title: 'Exemptions that people ask for',
      section: SECTION,
      live: LIVE,
      body: await listed(deps, readSearch(context, query)),
    })),
    readPage(deps, `${REQUESTS_PATH}/:id`, async (context) => {
      const id = param(context, 'id');
      const request = await deps.reader.exemptionRequest(id);
      if (request?.id !== id) throw new AppError('not_found', `there is no request \`${id}\``);
      const shown = await requestView(deps.reader, request, deps.clock.nowMs());
      return {
        title: requestTitle(request),
        section: SECTION,
        live: LIVE,
        body: (
          <>
            <h1>
              <Name>{requestTitle(request)}</Name>
            </h1>
            <Live id="request" on={LIVE} path={pathOf(id)}>
              {described(request, shown)}
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

async function listed({ reader, clock }: HttpDeps, { before }: z.infer<typeof query>) {
  const { rows, total } = await reader.exemptionRequests({ limit: PAGE, ...(before !== undefined && { before }) });
  const next = nextOf(rows, PAGE);
  const nowMs = clock.nowMs();
  return (
    <>
      <h1>Exemptions that people ask for</h1>
      <Live id="requests" on={LIVE} path={addressOf(REQUESTS_PATH, { before })}>
        <section class="card">
          <h2>Requests: {countText(total)}</h2>
          <Table
            caption="Requests, newest first"
            columns={['What', 'Who and why', 'Asked', 'State']}
            rows={rows.map((one) => ({
              id: `request-${one.id}`,
              cells: [
                <Link href={`${REQUESTS_PATH}/${encodeURIComponent(one.id)}`}>
                  <Name>{requestTitle(one)}</Name>
                </Link>,
                <Words>{`${one.person}: ${shownName(one.reason)}`}</Words>,
                <When at={one.askedAt} />,
                <StatusMark status={requestStatusAt(one, nowMs)} />,
              ],
            }))}
            empty="Nobody has asked yet."
          />
          <Pager next={next === null ? undefined : addressOf(REQUESTS_PATH, { before: next })} />
        </section>
      </Live>
    </>
  );
}

function StatusMark({ status }: { status: RequestStatus }) {
  return <Mark word={status} tone={TONES[status]} />;
}

function described(request: ExemptionRequest, { status, inForce }: ExemptionRequestShown) {
  const { person, device, name, serial, rule, reason, forMs, askedAt, answeredBy, answeredAt, sentence } = request;
  const path = subjectPath('device', device);
  return (
    <>
      <section class="card">
        <p class="lead">
          <StatusMark status={status} /> <Name>{person}</Name> asks that this device is left alone for {spanText(forMs)}
          .
        </p>
        <Whole max={REASON_SHOWN}>{reason}</Whole>
        <dl class="facts">
          <dt>device</dt>
          <dd>
            <Link href={path}>
              <Name>{name || serial || device}</Name>
            </Link>{' '}
            <Code>{serial || device}</Code>
          </dd>
          <dt>rule</dt>
          <dd>
            {rule === undefined ? (
              'none matched it when it was asked'
            ) : (
              <Link href={`/rules/${encodeURIComponent(rule)}`}>
                <Words>{rule}</Words>
              </Link>
            )}
          </dd>
          <dt>asked, expires</dt>
          <dd>
            <When at={askedAt} />, <When at={expiresAtOf(request)} />
          </dd>
          {answeredAt === undefined ? null : (
            <>
              <dt>answered</dt>
              <dd>
                <Name>{answeredBy ?? 'somebody'}</Name>, <When at={answeredAt} />
                {sentence === undefined ? null : (
                  <div>
                    <Words>{sentence}</Words>
                  </div>
                )}
              </dd>
            </>
          )}
          {request.exemption === undefined ? null : (
            <>
              <dt>exemption</dt>
              <dd>
                <Link href={`${SECTION}#exemption-${encodeURIComponent(request.exemption)}`}>
                  <Code>{request.exemption}</Code>
                </Link>
                {request.exemptUntil === undefined ? null : [' until ', <When at={request.exemptUntil} />]}
              </dd>
            </>
          )}
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
          <p>
            <Link class="button" href={`${path}#actions`}>
              Release it on the page of the device
            </Link>
          </p>
        </section>
      )}
    </>
  );
}

const SPANS = [
  ['', 'as asked for'],
  ['1d', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
] as const;

function Answers({ path }: { path: string }) {
  return (
    <section class="card">
      <h2>Answer</h2>
      <p>
        The exemption covers this device for all rules, from now on. It holds back new actions, and never blocks an
        undo. The reason is for the records alone.
      </p>
      <h3>Grant</h3>
      <Form class="act" method="post" action={`${path}/grant`}>
        <Sentence label="Grant" />
        <label class="field">
          <span>For</span>
          <select name="until">
            {SPANS.map(([span, words]) => (
              <option value={span}>{words}</option>
            ))}
          </select>
        </label>
        <Said of={REQUESTS.grantRequest} label="Grant" reason="optional" isField="short" max={400} />
        <button type="submit" class="main">
          Grant
        </button>
      </Form>
      <h3>Refuse</h3>
      <Form class="act" method="post" action={`${path}/refuse`}>
        <Sentence label="Refuse" />
        <Said of={REQUESTS.refuseRequest} label="Refuse" reason="optional" isField="short" max={400} />
        <button type="submit" class="danger">
          Refuse
        </button>
      </Form>
    </section>
  );
}

function Sentence({ label }: { label: string }) {
  return (
    <label class="field">
      <span>
        What the person reads<span class="unseen"> to {label.toLowerCase()}</span>
      </span>
      <input type="text" name="say" required maxlength={400} size={50} />
    </label>
  );
}
