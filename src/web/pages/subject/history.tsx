// web: what happened to a subject, newest first: decisions, calls, what people did. In: lines. Out: a timeline, and its older pages. A page
// reads the lines before it again, so there are only so many: the audit has all.

import { z } from 'zod';
import { AppError } from '../../../domain/errors.ts';
import { type HistoryLine, TIMELINE_PARTS, type TimelinePart } from '../../../domain/history.ts';
import type { Identity } from '../../../domain/identity.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { positionField, readQuery } from '../../../http/input.ts';
import type { Route } from '../../../http/route.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import { Name, When, Words } from '../../../report/html/text.tsx';
import { addressOf } from '../../address.ts';
import { readPage } from '../../answer.tsx';
import { AuditLink } from '../../parts/audit-link.tsx';
import { Pager } from '../../parts/pager.tsx';
import { askedSubject, pathOf, SUBJECT_PATH, titleOf } from './about.ts';
import { RuleLinks } from './state.tsx';

/** As many as the answer of why has. */
export const HISTORY_PAGE = 50;
const PAGE = HISTORY_PAGE;
const LINES_MAX = 1_000;

const query = z.strictObject({ from: positionField.optional(), show: z.enum(TIMELINE_PARTS).default('all') });
/** What a person chooses by. */
const PART_WORDS = { all: 'All', facts: 'What changed of its facts', acts: 'What was decided and done' } as const;

/** The newest page of it. `isPartial`: what changed of its facts is missing, since it was not read in time. */
export function HistoryCard({
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

export function historyPage(deps: HttpDeps): Route {
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
                by <Name>{line.by}</Name>{' '}
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
