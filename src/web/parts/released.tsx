// web: what a release has done, target by target, where no one action shows it. In: the result. Out: a page.

import type { Released } from '../../domain/operator.ts';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { Table } from '../../report/html/table.tsx';
import { Code, Term, Words } from '../../report/html/text.tsx';

const TONES = { released: 'good', dry_run: 'calm', standing: 'wait' } as const;
const WORDS = { released: 'released', dry_run: 'dry run', standing: 'still in force' } as const;

export function ReleasedTable({ released }: { released: readonly Released[] }) {
  return (
    <Table
      caption="What was released"
      columns={['Undone', 'Target', 'Result', 'How']}
      rows={released.map(({ action, target, state, text, intent }) => ({
        cells: [
          intent ? (
            <Link href={`/intents/${encodeURIComponent(intent.id)}`}>
              <Term>{intent.action}</Term>
            </Link>
          ) : (
            <Term>{action}</Term>
          ),
          <Code>{target}</Code>,
          <Mark word={WORDS[state]} tone={TONES[state]} />,
          <Words>{text}</Words>,
        ],
      }))}
      empty="Nothing was in force that it protects."
    />
  );
}
