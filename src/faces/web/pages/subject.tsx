// web: everything about one device, user or service: state, rules, what is in force and what happened, and what a person can do. In: its
// kind and id. Out: a page. What the platform does not answer within two seconds is loaded after the page; the rest is shown at once.

import { z } from 'zod';
import { positionField } from '../../../contract/operation.ts';
import { AppError } from '../../../domain/errors.ts';
import { type Fact, isFacts } from '../../../domain/facts.ts';
import type { Identity } from '../../../domain/identity.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import {
  type DecidedNow,
  type ExplainedPart,
  type ExplainedSubject,
  type HistoryLine,
  TIMELINE_PARTS,
  type TimelinePart,
  type Why,
  type WhyAnswer,
  type WhyRule,
} from '../../../domain/why.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { Problem } from '../../http/problem.ts';
import { leadTo, param, type Route, readQuery } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { andMore, factText, flipWords, plural } from '../../report/fact-text.ts';
import { Link, useAddress } from '../../report/html/link.tsx';
import { By, Code, Lines, Mark, Name, type Row, Table, type Tone, When, Words } from '../../report/html/text.tsx';
import {
  basisWords,
  becauseWords,
  differsWords,
  eventWords,
  explainedFactWords,
  explanationFlipWords,
  lastRunWords,
  matchingFacts,
  notAskedWords,
  nothingNowWords,
  nowWords,
  partWords,
  rulesInOrder,
  sinceWords,
  thenWords,
  verdictWords,
} from '../../report/why-words.ts';
import { addressOf } from '../address.ts';
import { InTime, mayDo, readPage } from '../answer.tsx';
import { AuditLink, Narrow, Pager } from '../parts/act.tsx';
import {
  ActionsCard,
  actionPages,
  askedSubject,
  DevicesCard,
  InForceCard,
  NextCard,
  pathOf,
  RuleLink,
  RuleLinks,
  rulePathOf,
  StateCard,
  SUBJECT_PATH,
  titleOf,
} from './subject-state.tsx';

// The record of a subject as the platform has it now: what matters first.

const FACTS_MAX = 300;
const DEPTH_MAX = 6;

/** Paths that begin so, in this order, go before the rest. */
const KEY_PATHS: Record<SubjectKind, readonly string[]> = {
  device: [
    'Banned',
    'MdmData.',
    'TrustData.Level',
    'TrustData.',
    'Ownership',
    'Platform',
    'OS',
    'AppVersion',
    'LastLogin',
  ],
  user: ['Groups', 'Roles', 'TrustData.Level', 'TrustData.', 'SerialNumbers', 'LastLogin'],
  service: ['Enabled', 'ServiceType', 'Domain', 'Port', 'Protocol', 'UserFacing'],
};
const KEY_MAX = 8;

function FactsCard({ why: { record, subject, at: atMs, unread } }: { why: Why }) {
  if (record === undefined) {
    const text = unread === undefined ? 'The platform has no record of this id.' : 'Its record could not be read now.';
    return (
      <section class="card">
        <h2>Facts</h2>
        <p class="empty">{text}</p>
      </section>
    );
  }
  const all = inOrder(leavesOf(record), KEY_PATHS[subject.kind]);
  const key = all.filter(({ rank, value }) => rank >= 0 && !Array.isArray(value)).slice(0, KEY_MAX);
  const shown = all.slice(0, FACTS_MAX);
  return (
    <section class="card">
      <h2>Facts</h2>
      <FactList facts={key} atMs={atMs} />
      <details>
        <summary>All {plural(all.length, 'fact')} of its record, read now</summary>
        <FactList facts={shown} atMs={atMs} />
        {all.length > shown.length ? <p class="quiet">and {all.length - shown.length} more</p> : null}
      </details>
    </section>
  );
}

interface Leaf {
  path: string;
  value: Fact;
}

function FactList({ facts, atMs }: { facts: readonly Leaf[]; atMs: number }) {
  if (facts.length === 0) return null;
  return (
    <dl class="facts">
      {facts.map(({ path, value }) => (
        <>
          <dt>
            <Code>{path}</Code>
          </dt>
          <dd>
            <Words>{factText(path, value, atMs)}</Words>
          </dd>
        </>
      ))}
    </dl>
  );
}

function leavesOf(value: Fact, path = '', depth = 0): Leaf[] {
  if (!isFacts(value) || depth >= DEPTH_MAX) return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner, path === '' ? name : `${path}.${name}`, depth + 1),
  );
}

function inOrder(leaves: readonly Leaf[], first: readonly string[]): (Leaf & { rank: number })[] {
  const rankOf = (path: string) =>
    first.findIndex((key) => path === key || (key.endsWith('.') && path.startsWith(key)));
  const ranked = leaves.map((leaf) => ({ ...leaf, rank: rankOf(leaf.path) }));
  const place = (rank: number) => (rank < 0 ? first.length : rank);
  return ranked.sort((a, b) => place(a.rank) - place(b.rank));
}

// What happened to a subject, newest first: decisions, calls, what people did.

/** As many as the answer of why has. */
const HISTORY_PAGE = 50;
const PAGE = HISTORY_PAGE;
const LINES_MAX = 1_000;

const query = z.strictObject({ from: positionField.optional(), show: z.enum(TIMELINE_PARTS).default('all') });
/** What a person chooses by. */
const PART_WORDS = { all: 'All', facts: 'What changed of its facts', acts: 'What was decided and done' } as const;

/** The newest page of it. `isPartial`: what changed of its facts is missing, since it was not read in time. */
function HistoryCard({
  subject,
  lines,
  isPartial,
}: {
  subject: Identity;
  lines: readonly HistoryLine[];
  isPartial: boolean;
}) {
  return (
    <section class="card">
      <h2>History</h2>
      {isPartial ? (
        <p class="quiet">
          What changed of its facts is missing here, since the history takes longer to read:{' '}
          <Link href={`${pathOf(subject)}/history`}>the whole line of time</Link>
        </p>
      ) : null}
      {lines.length === 0 ? <p class="empty">Nothing was decided or done about it yet.</p> : <Timeline lines={lines} />}
      <Pager
        next={lines.length < PAGE ? undefined : addressOf(`${pathOf(subject)}/history`, { from: PAGE })}
        text="Older history"
      />
      <AuditOf subject={subject} />
    </section>
  );
}

function historyPage(deps: HttpDeps): Route {
  return readPage(deps, `${SUBJECT_PATH}/history`, async (context) => {
    const { from: asked, show } = readQuery(context, query);
    // The page of the subject has the newest of what was decided and done.
    const from = asked ?? (deps.timeline ? 0 : PAGE);
    if (from >= LINES_MAX)
      throw new AppError(
        'usage',
        `a history has its newest ${LINES_MAX} lines here: \`/audit\` has all about a target`,
      );
    const { subject } = await askedSubject(deps, context);
    const limit = from + PAGE + 1;
    const lines = deps.timeline
      ? await deps.timeline(subject, { limit, part: show })
      : await deps.history(subject, limit);
    const shown = lines.slice(from, from + PAGE);
    const hasMore = lines.length > from + PAGE && from + PAGE < LINES_MAX;
    const path = pathOf(subject);
    return {
      title: `History of ${titleOf(subject)}`,
      body: (
        <>
          <h1>
            History of <Name>{titleOf(subject)}</Name>
          </h1>
          <p>
            <Link href={path}>
              The page of <Name>{titleOf(subject)}</Name>
            </Link>
          </p>
          {deps.timeline ? <Parts path={path} show={show} /> : null}
          <section class="card">
            {shown.length === 0 ? (
              <p class="empty">Nothing {from > 0 ? 'older ' : ''}is recorded.</p>
            ) : (
              <Timeline lines={shown} />
            )}
            <Pager next={hasMore ? addressOf(`${path}/history`, { from: from + PAGE, show }) : undefined} />
            <AuditOf subject={subject} />
          </section>
        </>
      ),
    };
  });
}

function Parts({ path, show }: { path: string; show: TimelinePart }) {
  return (
    <nav aria-label="Which part of the history">
      {TIMELINE_PARTS.map((part) => (
        <>
          {part === show ? (
            <b aria-current="page">{PART_WORDS[part]}</b>
          ) : (
            <Link href={addressOf(`${path}/history`, { show: part })}>{PART_WORDS[part]}</Link>
          )}{' '}
        </>
      ))}
    </nav>
  );
}

function Timeline({ lines }: { lines: readonly HistoryLine[] }) {
  return (
    <ol class="timeline">
      {lines.map((line) => (
        <li data-row>
          <When at={line.at} /> <Mark word={line.kind} /> <Words>{line.text}</Words>
          <div class="quiet">
            {line.by === undefined ? null : (
              <>
                by <By>{line.by}</By>{' '}
              </>
            )}
            {line.rules.length === 0 ? null : (
              <>
                rule <RuleLinks rules={line.rules} />{' '}
              </>
            )}
            {line.run === undefined ? null : <Link href={`/runs/${line.run}`}>report of run {line.run}</Link>}{' '}
            <Source line={line} />
          </div>
        </li>
      ))}
    </ol>
  );
}

/** Where the whole of it is. */
function Source({ line: { kind, id } }: { line: HistoryLine }) {
  const own = encodeURIComponent(id);
  if (kind === 'call' || kind === 'resolution') return <Link href={`/intents/${own}`}>all of this action</Link>;
  if (kind === 'exemption') return <Link href={`/exemptions#exemption-${own}`}>exemptions</Link>;
  return null;
}

function AuditOf({ subject: { serial, id } }: { subject: Pick<Identity, 'serial' | 'id'> }) {
  const target = serial === '' ? id : serial;
  return (
    <p>
      <AuditLink target={target}>
        All entries of the audit about <Name>{target}</Name>
      </AuditLink>
    </p>
  );
}

const WAIT_MS = 2_000;
/** For the part that is loaded after the page. */
const LONG_WAIT_MS = 60_000;
const OWNERS_MAX = 10;

const subjectQuery = z.strictObject({ wait: z.literal('long').optional() });

export function subjectPages(deps: HttpDeps): Route[] {
  const inTime = new InTime(deps);
  return [
    readPage(deps, SUBJECT_PATH, async (context) => {
      const { wait } = readQuery(context, subjectQuery);
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
              {andMore(owners.length - shown.length)}
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

// What every rule says of a subject, and what would be decided; with a page for one rule: the condition as a tree with every value, the facts read,
// what would change it, and what the last run decided.

/** More of them are filtered by typing. */
const FEW = 5;

function RulesCard({ why }: { why: Why }) {
  const { rules, subject } = why;
  return (
    <section class="card" id="rules">
      <h2>Rules</h2>
      {rules.length > FEW ? <Narrow scope="rules" noun="rules" /> : null}
      <Table
        caption="What each rule says of it now"
        columns={['Rule', 'Mode', 'Verdict', { head: 'Because', kind: 'facts' }, 'Would be decided']}
        rows={rulesInOrder(rules).map((rule) => ruleRow(rule, why))}
        empty={`No rule is about a ${subject.kind}.`}
      />
    </section>
  );
}

function ruleRow(rule: WhyRule, { subject, at: atMs }: Why): Row {
  const { mode, verdict, reason, flip, decisions, title, of } = rule;
  const judged = of === undefined ? subject : { kind: 'user' as const, id: of };
  return {
    cells: [
      <>
        <RuleLink rule={rule.rule} />
        <div class="quiet">
          <Name>{title}</Name>
        </div>
        {of === undefined ? null : (
          <div class="quiet">
            about{' '}
            <Link href={subjectPath('user', of)}>
              <Name>{of}</Name>
            </Link>
          </div>
        )}
      </>,
      <Mark word={mode} />,
      <Mark word={verdict ?? 'not judged'} text={verdictWords(rule)} />,
      <>
        <Lines texts={matchingFacts(rule, atMs)} />
        {reason === undefined ? null : (
          <div>
            <Words>{reason}</Words>
          </div>
        )}
        {flip === undefined ? null : (
          <div class="quiet">
            <Words>{flipWords(flip, atMs)}</Words>
          </div>
        )}
        {verdict === undefined ? null : <Tree path={rulePathOf(judged, rule.rule)} rule={rule.rule} />}
      </>,
      decisions.map((decision) => <Decided decision={decision} />),
    ],
  };
}

function Tree({ path, rule }: { path: string; rule: string }) {
  const at = useAddress();
  return (
    <details>
      <summary>The condition with its values</summary>
      <div
        hx-get={at(path)}
        hx-select="#explained > *"
        hx-trigger="toggle from:closest details once"
        hx-disinherit="*"
        aria-live="polite"
      >
        <Link href={path}>
          Why rule <Name>{rule}</Name> gives this verdict
        </Link>
      </div>
    </details>
  );
}

function Decided({ decision }: { decision: DecidedNow }) {
  return (
    <div>
      <Words>{`${nowWords(decision)}: ${decision.effect.text}`}</Words>
      <div class="quiet">
        <Words>{becauseWords(decision)}</Words>
      </div>
    </div>
  );
}

const RULE_WAIT_MS = 5_000;

function rulePage(deps: HttpDeps, inTime: InTime): Route {
  return readPage(deps, `${SUBJECT_PATH}/rules/:rule`, async (context) => {
    const { subject } = await askedSubject(deps, context);
    const id = param(context, 'rule');
    const rule = deps.rules().find((one) => one.id === id);
    if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
    if (rule.subject !== subject.kind)
      throw new AppError('not_found', `rule \`${id}\` judges ${rule.subject}s, and this is a ${subject.kind}`);
    const key = `${id}\n${subject.id}`;
    const explained = await inTime.of(key, () => deps.explain(id, subject.id), RULE_WAIT_MS);
    if (explained === undefined) {
      const text = 'the platform has not answered yet: load this page again in a few seconds';
      throw new AppError('api_unreachable', text, { retryAfterMs: RULE_WAIT_MS });
    }
    return {
      title: `${id} on ${titleOf(subject)}`,
      section: '/rules',
      body: (
        <>
          <h1>
            Why rule <RuleLink rule={id} /> {verdictWords(explained.explanation).toLowerCase()}
          </h1>
          <p>
            <Name>{rule.title}</Name>, about{' '}
            <Link href={pathOf(subject)}>
              {subject.kind} <Name>{titleOf(subject)}</Name>
            </Link>
          </p>
          <article class="card" id="explained">
            <Explained explained={explained} />
          </article>
        </>
      ),
    };
  });
}

function Explained({ explained }: { explained: ExplainedSubject }) {
  const { explanation, decisions, recorded, basis } = explained;
  const { reason, tree, facts, at: atMs } = explanation;
  const run = lastRunWords(explained);
  const unasked = notAskedWords(decisions);
  return (
    <>
      {reason === undefined ? null : (
        <p>
          <Mark word={explanation.verdict} text={verdictWords(explanation)} /> because <Words>{reason}</Words>
        </p>
      )}
      <ul class="tree" aria-label="The condition, each part with its value">
        <Part part={tree} atMs={atMs} />
      </ul>
      <dl class="facts">
        {facts.map((fact) => {
          const { value, notes } = explainedFactWords(fact, atMs);
          return (
            <>
              <dt>
                <Code>{fact.fact}</Code>
              </dt>
              <dd>
                <Words>{value}</Words>{' '}
                <span class="quiet">
                  <Words>{notes.join(', ')}</Words>
                </span>
              </dd>
            </>
          );
        })}
      </dl>
      <Lines texts={explanationFlipWords(explanation)} as="p" />
      <p>
        <b>Decided now, for this {explanation.subject.kind} alone</b>
      </p>
      <ul class="list">
        {decisions.map((decision) => (
          <li>
            <Decided decision={decision} />
          </li>
        ))}
      </ul>
      {decisions.length === 0 ? <p>{nothingNowWords(explained)}</p> : null}
      {unasked.length === 0 ? null : (
        <p class="quiet">Not checked, since they take a whole run: {unasked.join(', ')}.</p>
      )}
      <p>
        <b>The last run of this rule:</b>{' '}
        {run === undefined || basis.run === undefined ? (
          <Words>{recorded.none ?? ''}</Words>
        ) : (
          <Link href={`/runs/${basis.run.seq}`}>
            <Words>{run}</Words>
          </Link>
        )}
      </p>
      {basis.run === undefined ? null : (
        <ul class="list">
          {recorded.decisions.map((decision) => (
            <li>
              <Words>{`${thenWords(decision)}, ${becauseWords(decision)}${sinceWords(decision, basis.run?.seq ?? 0)}`}</Words>
            </li>
          ))}
          {recorded.none === undefined ? null : (
            <li>
              <Words>{`nothing: ${recorded.none}`}</Words>
            </li>
          )}
          <li>{differsWords(explained)}</li>
        </ul>
      )}
      <p class="quiet">
        <Words>
          {[...basis.sources.map(basisWords), ...(basis.events ? [eventWords(basis.events)] : [])].join('; ')}
        </Words>
      </p>
    </>
  );
}

const TONES: Record<string, Tone> = { unknown: 'wait', error: 'bad' };

function Part({ part, atMs }: { part: ExplainedPart; atMs: number }) {
  const { answer, why } = partWords(part, atMs);
  return (
    <li>
      {part.answer === undefined && part.value !== undefined ? (
        <b>
          <Words>{answer}</Words>
        </b>
      ) : (
        <Mark word={answer} tone={TONES[answer] ?? 'calm'} />
      )}{' '}
      <code>
        <Words>{part.text}</Words>
      </code>{' '}
      {why === undefined ? null : (
        <span class="quiet">
          <Words>{why}</Words>
        </span>
      )}
      {part.parts.length === 0 ? null : (
        <ul>
          {part.parts.map((inner) => (
            <Part part={inner} atMs={atMs} />
          ))}
        </ul>
      )}
    </li>
  );
}
