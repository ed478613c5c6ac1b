// web: what is so of a subject now and who made it so, what happens next, and what is in force, waiting, unfinished or exempt. In: the
// answer of why. Out: sections, in the words that the terminal has too.

import { exemptionText } from '../../../domain/exemption.ts';
import type { Why, WhyAnswer } from '../../../domain/why.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Code, Name, When, Words } from '../../../report/html/text.tsx';
import { Who } from '../../../report/html/who.tsx';
import { shortStateWords, stateWords } from '../../../report/why-words.ts';
import { OutcomeMark } from '../../parts/outcome-mark.tsx';
import { pathOf } from './about.ts';

export function StateCard({ why }: { why: WhyAnswer }) {
  const [first, ...others] = stateWords(why);
  const last = why.states.flatMap((state) => (state.last ? [state.last] : []));
  return (
    <section class="card">
      <h2>State</h2>
      <p class="lead">
        <Words>{first as string}</Words>
      </p>
      {others.map((line) => (
        <p>
          <Words>{line}</Words>
        </p>
      ))}
      {last.map(({ intent, runSeq }) => (
        <p>
          <Link href={`/intents/${encodeURIComponent(intent.id)}`}>
            The action {intent.action} on <Name>{intent.target}</Name>
          </Link>
          {runSeq === undefined ? null : (
            <>
              , <Link href={`/runs/${runSeq}`}>the report of run {runSeq}</Link>
            </>
          )}
          {intent.planId === undefined ? null : (
            <>
              , <Link href={`/plans/${encodeURIComponent(intent.planId)}`}>plan {intent.planId}</Link>
            </>
          )}
        </p>
      ))}
    </section>
  );
}

export function NextCard({ next }: Pick<WhyAnswer, 'next'>) {
  return (
    <section class="card">
      <h2>What happens next</h2>
      <ul class="list">
        {next.map((line) => (
          <li>
            <Words>{line}</Words>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function InForceCard({ why }: { why: Why }) {
  const { claims, waiting, unfinished, exemption, joined } = why;
  if (claims.length + waiting.length + unfinished.length === 0 && !exemption && !joined) return null;
  return (
    <section class="card">
      <h2>In force, waiting and unfinished</h2>
      <ul class="list">
        {claims.map(({ action, target, rule, openedAt, status }) => (
          <li data-row>
            <Link href="/in-force">In force</Link>: <Code>{action}</Code> on <Code>{target}</Code>, by{' '}
            <RuleLink rule={rule} /> since <When at={openedAt} />{' '}
            {status === 'orphaned' ? <Mark word="orphaned" tone="bad" /> : null}
          </li>
        ))}
        {waiting.map(({ plan, status, action, target, rules, reasonText, expiresAt }) => (
          <li data-row>
            <Link href={`/plans/${encodeURIComponent(plan)}`}>Plan {plan}</Link> <Mark word={status} />:{' '}
            <Code>{action}</Code> on <Code>{target}</Code>, by <RuleLinks rules={rules} />
            <div class="quiet">
              <Words>{reasonText}</Words>; until <When at={expiresAt} />
            </div>
          </li>
        ))}
        {unfinished.map(({ id, action, target, outcome, status, note }) => (
          <li data-row>
            <Link href={`/intents/${encodeURIComponent(id)}`}>
              {action} on <Name>{target}</Name>
            </Link>{' '}
            <OutcomeMark intent={{ outcome, status }} /> {note === undefined ? null : <Words>{note}</Words>}{' '}
            <Link href="/in-doubt">All that is in doubt</Link>
          </li>
        ))}
        {exemption === undefined ? null : (
          <li data-row>
            <Link href={`/exemptions#exemption-${encodeURIComponent(exemption.id)}`}>Exempt</Link>:{' '}
            <Words>{exemptionText(exemption)}</Words>
          </li>
        )}
        {joined === undefined ? null : (
          <li data-row>
            <Link href={`/exemptions#exemption-${encodeURIComponent(joined.id)}`}>Joined an exemption later</Link>{' '}
            <Mark word="waits for a yes" tone="wait" /> <Words>{exemptionText(joined)}</Words>
          </li>
        )}
      </ul>
    </section>
  );
}

export function DevicesCard({ why: { devices, subject } }: { why: Why }) {
  if (devices.length === 0) return null;
  const title = subject.kind === 'user' ? 'Devices of this user' : 'Other devices of this serial number';
  return (
    <section class="card">
      <h2>{title}</h2>
      <Table
        caption={title}
        columns={['Device', 'Platform', 'Model', 'State']}
        rows={devices.map(({ identity, states }) => ({
          cells: [
            <Who who={identity} href={pathOf(identity)} />,
            <Name>{identity.platform}</Name>,
            <Name>{identity.model}</Name>,
            states.map((state) => (
              <Mark
                word={state.text}
                text={shortStateWords(state)}
                tone={state.isSo === undefined ? 'wait' : state.isSo ? 'bad' : 'good'}
              />
            )),
          ],
        }))}
      />
    </section>
  );
}

export function RuleLink({ rule }: { rule: string }) {
  return (
    <Link href={`/rules/${encodeURIComponent(rule)}`}>
      <Name>{rule}</Name>
    </Link>
  );
}

export function RuleLinks({ rules }: { rules: readonly string[] }) {
  return (
    <>
      {rules.map((rule, at) => (
        <>
          {at > 0 ? ', ' : ''}
          <RuleLink rule={rule} />
        </>
      ))}
    </>
  );
}
