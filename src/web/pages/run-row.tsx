// web: what lists of runs share: a run as a row of a table, and the button that makes a dry run. In: a run, with the counts of what it did.
// Out: cells, a form.

import { formatDuration } from '../../domain/duration.ts';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import type { Row } from '../../report/html/table.tsx';
import { When, Words } from '../../report/html/text.tsx';
import { type CountedRun, countWords, runLineView, triggerWords } from '../../report/runs-list.ts';
import { Act } from '../parts/act.tsx';

export const RUN_COLUMNS = ['Run', 'Started', 'Trigger', 'Mode', 'Status', 'Took', 'Newly decided, and done'];

export function DryRun() {
  return (
    <>
      <Act to="/runs" label="Dry run" fields={{ mode: 'dry-run' }} tone="main" />
      <p class="quiet">It judges everything, changes nothing, and shows its report.</p>
    </>
  );
}

export function runRow(counted: CountedRun): Row {
  const run = runLineView(counted);
  return {
    cells: [
      <Link href={`/runs/${run.seq}`}>{run.seq}</Link>,
      <When at={run.startedAt} />,
      triggerWords(run).map((words) => <div>{words}</div>),
      <Mark word={run.modeInForce} />,
      <>
        <Mark word={run.status} />
        {run.error === null ? null : (
          <div>
            <Words>{run.error}</Words>
          </div>
        )}
      </>,
      run.tookMs === null ? '' : formatDuration(run.tookMs),
      countWords(run.counts).map((words) => <div>{words}</div>),
    ],
  };
}
