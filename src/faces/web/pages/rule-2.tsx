// web: why one rule gives its verdict on a subject: the condition as a tree with every value, the facts read, what would change it, what
// would be decided and what the last run decided. In: a rule and a subject. Out: a page, of which the subject's page shows the middle.

import { AppError } from '../../../domain/errors.ts';
import type { DecidedNow, ExplainedPart, ExplainedSubject, Why, WhyRule } from '../../../domain/why.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { param, type Route } from '../../http/route.ts';
import { flipWords } from '../../report/fact-text.ts';
import { Link, useAddress } from '../../report/html/link.tsx';
import { Code, Mark, Name, type Row, Table, type Tone, Words } from '../../report/html/text.tsx';
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
import { type InTime, readPage } from '../answer.tsx';
import { Narrow } from '../parts/act.tsx';
import { askedSubject, pathOf, RuleLink, rulePathOf, SUBJECT_PATH, titleOf } from './state.tsx';

// What every rule says of a subject, and what would be decided.

/** More of them are filtered by typing. */
const FEW = 5;

export function RulesCard({ why }: { why: Why }) {
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
  const { mode, verdict, reason, flip, decisions, title } = rule;
  return {
    cells: [
      <>
        <RuleLink rule={rule.rule} />
        <div class="quiet">
          <Name>{title}</Name>
        </div>
      </>,
      <Mark word={mode} />,
      <Mark word={verdict ?? 'not judged'} text={verdictWords(rule)} />,
      <>
        {matchingFacts(rule, atMs).map((fact) => (
          <div>
            <Words>{fact}</Words>
          </div>
        ))}
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
        {verdict === undefined ? null : <Tree path={rulePathOf(subject, rule.rule)} rule={rule.rule} />}
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

const WAIT_MS = 5_000;

export function rulePage(deps: HttpDeps, inTime: InTime): Route {
  return readPage(deps, `${SUBJECT_PATH}/rules/:rule`, async (context) => {
    const { subject } = await askedSubject(deps, context);
    const id = param(context, 'rule');
    const rule = deps.rules().find((one) => one.id === id);
    if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
    if (rule.subject !== subject.kind)
      throw new AppError('not_found', `rule \`${id}\` judges ${rule.subject}s, and this is a ${subject.kind}`);
    const key = `${id}\n${subject.id}`;
    const explained = await inTime.of(key, () => deps.explain(id, subject.id), WAIT_MS);
    if (explained === undefined) {
      const text = 'the platform has not answered yet: load this page again in a few seconds';
      throw new AppError('api_unreachable', text, { retryAfterMs: WAIT_MS });
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
      {explanationFlipWords(explanation).map((words) => (
        <p>
          <Words>{words}</Words>
        </p>
      ))}
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
