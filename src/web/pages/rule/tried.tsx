// web: what a changed rule would match and do, compared with the rule in force: counts, who would be added, who would go, and what cannot be
// judged. In: a trial. Out: sections. Names in it are hostile.
import type { Rule } from '../../../domain/rule.ts';
import type { TriedDecision, TriedRule, TriedSubject } from '../../../domain/tried-rule.ts';
import { countText, plural } from '../../../report/fact-text.ts';
import { Mark } from '../../../report/html/marks.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Code, Term, When, Words } from '../../../report/html/text.tsx';
import { subjectPath, Who } from '../../../report/html/who.tsx';
import { limitWords } from '../../../report/rule-words.ts';
import { Narrow } from '../../parts/narrow.tsx';
import { Facts } from './decision-rows.tsx';

/** Rows of each list: more make a page that is slow to read. */
const SHOWN_MAX = 50;

export function Tried({ tried, loaded }: { tried: TriedRule; loaded: Rule }) {
  const { rule, asOf, after, added, addedTotal, gone, goneTotal, same, unknownBy, untrusted } = tried;
  return (
    <>
      <section class="card">
        <h2>What it would do</h2>
        <p class="lead">
          The changed rule matches {plural(after.match, rule.subject)}: {countText(addedTotal)} added,{' '}
          {countText(goneTotal)} gone, {countText(same)} the same.
        </p>
        <p>
          Read from the fleet, <When at={asOf} />. Nothing was sent, and nothing of this is kept: no run, no plan, no
          change of the loaded rule.
        </p>
        {untrusted.length === 0 ? null : (
          <div class="notice bad" role="alert">
            <b>Not trusted, so nothing would be done on it:</b> <Words>{untrusted.join('; ')}</Words>.
          </div>
        )}
        <Counts tried={tried} loaded={loaded} />
      </section>
      <Subjects id="added" title="Added" total={addedTotal} subjects={added} asOf={asOf} none="Nobody is added." />
      <Subjects id="gone" title="Gone" total={goneTotal} subjects={gone} asOf={asOf} none="Nobody goes." />
      <section class="card">
        <h2>Unknown: {countText(after.unknown)}</h2>
        <Table
          caption="Subjects that the changed rule cannot judge, by missing fact"
          columns={['Missing fact', { head: 'Subjects', kind: 'number' }]}
          rows={Object.entries(unknownBy)
            .sort(([, one], [, other]) => other - one)
            .map(([fact, count]) => ({ cells: [<Code>{fact}</Code>, countText(count)] }))}
          empty="The changed rule can judge everybody."
        />
      </section>
    </>
  );
}

const COUNTS = [
  ['match', 'Matches'],
  ['unknown', 'Unknown'],
  ['error', 'Errors'],
  ['act', 'Would act'],
  ['hold', 'Hold'],
  ['skip', 'Skip'],
] as const;

function Counts({ tried: { rule, before, after }, loaded }: { tried: TriedRule; loaded: Rule }) {
  const number = (head: string) => ({ head, kind: 'number' as const });
  const limits = [limitWords(loaded), limitWords(rule)];
  return (
    <Table
      caption="Counts before and after the change"
      columns={['Count', number('Rule in force'), number('Changed rule'), number('Difference')]}
      rows={[
        ...COUNTS.map(([key, text]) => ({
          cells: [text, countText(before[key]), countText(after[key]), signed(after[key] - before[key])],
        })),
        { cells: ['Mode', <Mark word={loaded.mode} />, <Mark word={rule.mode} />, ''] },
        { cells: ['Limits', ...limits, limits[0] === limits[1] ? '' : 'changed'] },
      ]}
    />
  );
}

function signed(difference: number): string {
  if (difference === 0) return '0';
  return `${difference > 0 ? '+' : '−'}${countText(Math.abs(difference))}`;
}

interface SubjectsProps {
  id: string;
  title: string;
  total: number;
  subjects: readonly TriedSubject[];
  asOf: number;
  none: string;
}

function Subjects({ id, title, total, subjects, asOf, none }: SubjectsProps) {
  const shown = subjects.slice(0, SHOWN_MAX);
  return (
    <section class="card" id={id}>
      <h2>
        {title}: {countText(total)}
      </h2>
      {shown.length > 10 ? <Narrow scope={id} /> : null}
      <Table
        caption={title}
        columns={['Who', 'Would be decided', 'Until now', { head: 'Facts', kind: 'facts' }]}
        rows={shown.map((subject) => ({
          cells: [
            <Who who={subject} href={subjectPath(subject.kind, subject.id)} />,
            <Decided decisions={subject.decided} />,
            <Decided decisions={subject.was} />,
            <Facts facts={subject.facts} atMs={asOf} />,
          ],
        }))}
        empty={none}
      />
      {total > shown.length ? (
        <p class="quiet">
          The first {shown.length} of {countText(total)} are shown.
        </p>
      ) : null}
    </section>
  );
}

function Decided({ decisions }: { decisions: readonly TriedDecision[] }) {
  if (decisions.length === 0) return <span class="quiet">nothing</span>;
  return (
    <>
      {decisions.map(({ decision, action, target, reasonText }) => (
        <div>
          <Mark word={decision} text={decision === 'act' ? 'would act' : decision} /> <Term>{action}</Term> on{' '}
          <Code>{target}</Code>
          <div class="quiet">
            <Words>{reasonText}</Words>
          </div>
        </div>
      ))}
    </>
  );
}
