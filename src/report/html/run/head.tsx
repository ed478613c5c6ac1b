// report: the beginning of a run's HTML report: one sentence, what changed since the run before, and what each rule and action affects. In: a
// report. Out: elements that may hold hostile names, escaped.

import { decisionWords } from '../../decision-words.ts';
import { countText } from '../../fact-text.ts';
import { changeWords } from '../../figure-words.ts';
import type { Report } from '../../report.ts';
import type { RowGroup } from '../../row-groups.ts';
import { headline, kindAndTime, progressWords, summaryWords } from '../../words.ts';
import { Sentences } from '../line.tsx';
import { Link } from '../link.tsx';
import { Mark } from '../marks.tsx';
import { Table } from '../table.tsx';
import { Code, Words } from '../text.tsx';
import { idOfGroup } from './groups.tsx';
import { type Place, planPath, rulePath } from './place.ts';

/** A page stands under the name of the product; a file does not. */
export function Headline({ report, place }: { report: Report; place: Place }) {
  return (
    <>
      <h1>
        <Words>{place.isPage ? `Run ${report.run.seq}: ${kindAndTime(report)}` : headline(report)}</Words>
      </h1>
      <p class="lead">
        <Words>{report.sentence}</Words>
      </p>
      <Sentences tone="quiet" of={summaryWords(report)} />
    </>
  );
}

export function Changes({ report }: { report: Report }) {
  const words = changeWords(report);
  if (words === undefined) return null;
  return (
    <section class="card">
      <h2>What changed</h2>
      <p>
        <Words>{words.sentence}</Words>
      </p>
      {words.gone.length === 0 ? null : (
        <ul>
          {words.gone.map((line) => (
            <li>
              <Words>{line}</Words>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** `groups`: those of the rows below, which these lead to. */
export function Effects({ report, groups, place }: { report: Report; groups: readonly RowGroup[]; place: Place }) {
  if (report.effects.length === 0) return null;
  const isUnknown = report.effects.some(({ ownersUnknown }) => ownersUnknown > 0);
  const counts = [...COUNTS, ...(isUnknown ? [NOT_KNOWN] : [])];
  const groupOf = (rule: string, action: string, decision: string) =>
    groups.find((one) => one.rule === rule && one.action === action && one.decisions[0]?.decision === decision);
  return (
    <section class="card">
      <h2>What it affects</h2>
      <Table
        caption="Devices and people, by rule, action and decision"
        columns={['Rule', 'Action', 'Decision', ...counts.map((head) => ({ head, kind: 'number' as const }))]}
        rows={report.effects.map(({ rule, action, decision, decisions, devices, people, ownersUnknown }) => {
          const group = groupOf(rule, action, decision);
          const words = <DecisionMark decision={decision} group={group} />;
          return {
            cells: [
              place.isPage ? <Link href={rulePath(rule)}>{rule}</Link> : rule,
              action,
              group ? <Link href={`#${idOfGroup(group)}`}>{words}</Link> : words,
              countText(decisions),
              countText(devices),
              countText(people),
              ...(isUnknown ? [ownersUnknown === 0 ? '' : countText(ownersUnknown)] : []),
            ],
          };
        })}
      />
    </section>
  );
}

/** What a dry run would do does not look as if it were done. */
function DecisionMark({ decision, group }: { decision: string; group: RowGroup | undefined }) {
  const [first] = group?.decisions ?? [];
  const isDone = group === undefined || !('limits' in group) || group.kind === 'done';
  return <Mark word={decision} {...(first && { text: decisionWords(first) })} {...(!isDone && { tone: 'wait' })} />;
}

const COUNTS = ['Matches', 'Devices', 'People'];
const NOT_KNOWN = 'Devices without known owners';

export function InterruptedPlan({ report: { plan }, place }: { report: Report; place: Place }) {
  const words = progressWords(plan);
  if (words === undefined || plan.id === null) return null;
  return (
    <section class="card">
      <h2>Interrupted plan</h2>
      <p>
        <Words>{words}</Words>
      </p>
      <p>
        {place.isPage ? (
          <Link href={planPath(plan.id)}>Plan {plan.id}</Link>
        ) : (
          <Code>{`trustward apply ${plan.id}`}</Code>
        )}
      </p>
    </section>
  );
}
