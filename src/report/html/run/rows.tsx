// report: decisions as rows of an HTML table: who with serial number and owners, the target, why with its facts and the smallest change,
// since when, the outcome. In: decisions of one group. Out: rows that may hold hostile names, escaped.
import {
  alsoHit,
  type DecisionColumn,
  decisionColumns,
  HELD_BECAUSE,
  OUTCOME,
  SKIPPED_BECAUSE,
} from '../../decision-columns.ts';
import type { ReportRun, RunDecision } from '../../report.ts';
import type { RowGroup } from '../../row-groups.ts';
import { Line } from '../line.tsx';
import type { Row } from '../table.tsx';
import { When } from '../text.tsx';
import { subjectPath, Who } from '../who.tsx';
import type { Place } from './place.ts';

/** INVARIANT: `shown` is whole; whether a column is needed follows from the rows that it is for. */
export function groupColumns(group: RowGroup, shown: readonly RunDecision[], run: ReportRun): DecisionColumn[] {
  const isSame = new Set(group.decisions.map(({ reasonText }) => reasonText)).size === 1;
  const more = {
    ...{ done: [OUTCOME], would: [], reported: [] },
    hold: isSame ? [] : [HELD_BECAUSE],
    skip: isSame ? [] : [SKIPPED_BECAUSE],
  }[group.kind];
  return decisionColumns(shown, more, run);
}

export function decisionRow(decision: RunDecision, columns: readonly DecisionColumn[], { isPage }: Place): Row {
  return {
    cells: columns.map(({ kind, lines }) => {
      if (kind === 'who') return whoCell(decision, isPage);
      if (kind === 'since') return sinceCell(decision, lines(decision).length > 1);
      return lines(decision).map((line) => <Line of={line} />);
    }),
  };
}

function whoCell(decision: RunDecision, isPage: boolean) {
  const { subject, target } = decision;
  const href = isPage ? subjectPath(subject.kind, subject.id) : undefined;
  return (
    <>
      <Who who={subject} href={href} shown={target} />
      {alsoHit(decision).map((line) => (
        <Line of={line} />
      ))}
    </>
  );
}

function sinceCell({ since, change }: RunDecision, isMarked: boolean) {
  return (
    <>
      <When at={since} />
      {isMarked ? <div>{change}</div> : null}
    </>
  );
}
