// web: everything about one device, user or service: state, rules, what is in force and what happened, and what a person can do. In: its
// kind and id. Out: a page. What the platform does not answer within two seconds is loaded after the page; the rest is shown at once.

import { z } from 'zod';
import type { HistoryLine } from '../../domain/history.ts';
import type { Identity } from '../../domain/identity.ts';
import type { WhyAnswer } from '../../domain/why.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readQuery } from '../../http/input.ts';
import { Problem } from '../../http/problem.ts';
import { leadTo, type Route } from '../../http/route.ts';
import { Link, useAddress } from '../../report/html/link.tsx';
import { Code, Name, When } from '../../report/html/text.tsx';
import { subjectPath } from '../../report/html/who.tsx';
import { mayDo, readPage } from '../answer.tsx';
import { InTime } from '../in-time.ts';
import { askedSubject, pathOf, SUBJECT_PATH, titleOf } from './subject/about.ts';
import { ActionsCard, actionPages } from './subject/actions.tsx';
import { FactsCard } from './subject/facts.tsx';
import { HISTORY_PAGE, HistoryCard, historyPage } from './subject/history.tsx';
import { rulePage } from './subject/rule.tsx';
import { RulesCard } from './subject/rules.tsx';
import { DevicesCard, InForceCard, NextCard, StateCard } from './subject/state.tsx';

const WAIT_MS = 2_000;
/** For the part that is loaded after the page. */
const LONG_WAIT_MS = 60_000;
const OWNERS_MAX = 10;

const query = z.strictObject({ wait: z.literal('long').optional() });

export function subjectPages(deps: HttpDeps): Route[] {
  const inTime = new InTime(deps);
  return [
    readPage(deps, SUBJECT_PATH, async (context) => {
      const { wait } = readQuery(context, query);
      const { subject, isAlias } = await askedSubject(deps, context);
      if (isAlias) return leadTo(context, pathOf(subject));
      const { why, isLate } = await answered(deps, inTime, subject, wait === 'long' ? LONG_WAIT_MS : WAIT_MS);
      const timeline = await newestOf(deps, inTime, subject);
      return {
        title: titleOf(subject),
        body: (
          <>
            <Head subject={subject} />
            <Known why={why} isLate={isLate} canWait={wait === undefined} />
            {mayDo(context, 'approve') ? <ActionsCard why={why} caller={context.var.caller.name} /> : null}
            <HistoryCard
              subject={subject}
              lines={timeline ?? why.history}
              isPartial={deps.timeline !== undefined && timeline === undefined}
            />
          </>
        ),
      };
    }),
    historyPage(deps),
    rulePage(deps, inTime),
    ...actionPages(deps),
  ];
}

async function answered(
  deps: HttpDeps,
  inTime: InTime,
  { kind, id }: Identity,
  waitMs: number,
): Promise<{ why: WhyAnswer; isLate: boolean }> {
  const unread = `the platform has not answered within ${waitMs / 1_000} seconds`;
  try {
    const why = await inTime.of(`${kind} ${id}`, () => deps.why({ kind, id }), waitMs);
    if (why) return { why, isLate: false };
  } catch (error) {
    // Too many ask at once.
    if (!(error instanceof Problem)) throw error;
  }
  return { why: await deps.whyStored({ kind, id }, unread), isLate: true };
}

/** Undefined: no history is kept, or it takes longer. */
async function newestOf({ timeline }: HttpDeps, inTime: InTime, subject: Identity): Promise<HistoryLine[] | undefined> {
  if (!timeline) return undefined;
  const { kind, id } = subject;
  try {
    return await inTime.of(`history of ${kind} ${id}`, () => timeline(subject, { limit: HISTORY_PAGE }), WAIT_MS);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return undefined;
  }
}

/** What may change when the platform has answered. */
function Known({ why, isLate, canWait }: { why: WhyAnswer; isLate: boolean; canWait: boolean }) {
  const at = useAddress();
  const later = `${pathOf(why.subject)}?wait=long`;
  const load = isLate && canWait ? { 'hx-get': at(later), 'hx-select': '#known', 'hx-swap': 'outerHTML' } : {};
  return (
    <div id="known" {...load} hx-trigger={isLate && canWait ? 'load' : undefined} hx-disinherit="*">
      {why.unread === undefined ? null : (
        <div class="notice wait" role="status">
          What the platform has of it is missing here. The rest is shown as it is stored.{' '}
          <Link href={later}>Ask again, and wait up to a minute</Link>
        </div>
      )}
      <div class="cards">
        <StateCard why={why} />
        <NextCard next={why.next} />
      </div>
      <InForceCard why={why} />
      <RulesCard why={why} />
      <DevicesCard why={why} />
      <FactsCard why={why} />
    </div>
  );
}

function Head({ subject }: { subject: Identity }) {
  const { kind, id, serial, platform, model, owners = [], goneAt } = subject;
  const shown = owners.slice(0, OWNERS_MAX);
  return (
    <>
      <h1>
        <Name>{titleOf(subject)}</Name>
      </h1>
      {goneAt === undefined ? null : (
        <div class="notice wait">
          Gone: trusted lists have not shown it since <When at={goneAt} />.
        </div>
      )}
      <dl class="facts">
        <dt>{kind}</dt>
        <dd>
          <Code>{id}</Code>
        </dd>
        {serial === '' ? null : (
          <>
            <dt>serial number</dt>
            <dd>
              <Code>{serial}</Code>
            </dd>
          </>
        )}
        {platform === '' && model === '' ? null : (
          <>
            <dt>platform, model</dt>
            <dd>
              <Name>{[platform, model].filter(Boolean).join(', ')}</Name>
            </dd>
          </>
        )}
        {owners.length === 0 ? null : (
          <>
            <dt>{owners.length === 1 ? 'owner' : 'owners'}</dt>
            <dd>
              {shown.map((owner, at) => (
                <>
                  {at > 0 ? ', ' : ''}
                  <Link href={subjectPath('user', owner)}>
                    <Name>{owner}</Name>
                  </Link>
                </>
              ))}
              {owners.length > shown.length ? ` and ${owners.length - shown.length} more` : ''}
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
