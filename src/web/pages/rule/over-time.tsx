// web: how many subjects a rule matched in its last runs, as a chart. In: the counts. Out: a section; nothing before there are two runs.

import { countText, plural } from '../../../report/fact-text.ts';
import { Link } from '../../../report/html/link.tsx';
import { When } from '../../../report/html/text.tsx';
import { Chart } from '../../parts/chart.tsx';
import type { RunTally } from './tallies.ts';

export function OverTime({ tallies }: { tallies: readonly RunTally[] }) {
  if (tallies.length < 2) return null;
  const number = (head: string) => ({ head, kind: 'number' as const });
  return (
    <section class="card">
      <h2>Matches over time</h2>
      <Chart
        id="matches"
        caption={`Matches in the last ${plural(tallies.length, 'run')}`}
        columns={['Run', 'Started', number('Match'), number('Unknown'), number('Error')]}
        rows={tallies.map(({ seq, at, match, unknown, error }) => ({
          cells: [
            <Link href={`/runs/${seq}`} aria-label={`the report of run ${seq}`}>
              {seq}
            </Link>,
            <When at={at} />,
            ...[match, unknown, error].map(countText),
          ],
        }))}
      />
    </section>
  );
}
