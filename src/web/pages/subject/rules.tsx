// web: what every rule says of a subject, and what would be decided. In: the answer of why. Out: a table; each row opens the tree of its
// rule, which is a page of its own without JavaScript.

import type { DecidedNow } from '../../../domain/explanation.ts';
import type { Why, WhyRule } from '../../../domain/why.ts';
import { becauseWords, nowWords } from '../../../report/explained-words.ts';
import { flipWords } from '../../../report/fact-text.ts';
import { Link, useAddress } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import { type Row, Table } from '../../../report/html/table.tsx';
import { Name, Words } from '../../../report/html/text.tsx';
import { matchingFacts, rulesInOrder, verdictWords } from '../../../report/why-words.ts';
import { Narrow } from '../../parts/narrow.tsx';
import { rulePathOf } from './about.ts';
import { RuleLink } from './state.tsx';

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

export function Decided({ decision }: { decision: DecidedNow }) {
  return (
    <div>
      <Words>{`${nowWords(decision)}: ${decision.effect.text}`}</Words>
      <div class="quiet">
        <Words>{becauseWords(decision)}</Words>
      </div>
    </div>
  );
}
