// web: decisions of one rule as rows: who, what was decided and why, since when, the facts, in which run. In: stored decisions. Out: cells.

import type { StoredDecision } from '../../../domain/decision.ts';
import { decisionView } from '../../../report/decision-view.ts';
import { decisionWords } from '../../../report/decision-words.ts';
import { factTexts } from '../../../report/fact-text.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import type { Row } from '../../../report/html/table.tsx';
import { Code, Term, When, Words } from '../../../report/html/text.tsx';
import { subjectPath, Who } from '../../../report/html/who.tsx';
import { reasonWords } from '../../../report/words.ts';

export const DECISION_COLUMNS = ['Who', 'Decided', 'Why', { head: 'Facts', kind: 'facts' }, 'Since', 'Run'] as const;

export function decisionRow(stored: StoredDecision): Row {
  const decision = decisionView(stored);
  const { subject, action, target, reason, reasonText, facts, since, runSeq, writtenAt } = decision;
  return {
    cells: [
      <Who who={subject} href={subjectPath(subject.kind, subject.id)} shown={target} />,
      <>
        <Mark word={decision.decision} text={decisionWords(decision)} />
        <div>
          <Term>{action}</Term> on <Code>{target}</Code>
        </div>
      </>,
      <>
        {reasonWords(reason)}
        {reasonText === reasonWords(reason) ? null : (
          <div class="quiet">
            <Words>{reasonText}</Words>
          </div>
        )}
      </>,
      <Facts facts={facts} atMs={stored.writtenAt} />,
      <When at={since} />,
      <>
        <Link href={`/runs/${runSeq}`} aria-label={`the report of run ${runSeq}`}>
          {runSeq}
        </Link>
        <div class="quiet">
          <When at={writtenAt} />
        </div>
      </>,
    ],
  };
}

export function Facts({ facts, atMs }: { facts: StoredDecision['facts']; atMs: number }) {
  return (
    <>
      {factTexts(facts, atMs).map((text) => (
        <div>
          <Words>{text}</Words>
        </div>
      ))}
    </>
  );
}
