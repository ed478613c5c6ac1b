// web: trying a change of a rule: a box with its text, and what the changed text would do over the present fleet. In: a text. Out: a page with
// the result, or with what is wrong at which line; the text stays in the box either way. Nothing is sent or kept.

import { z } from 'zod';
import { spanText } from '../../../base/time.ts';
import {
  LIFTED_BY_TIME,
  type TriedCounts,
  type TriedDecision,
  type TriedRule,
  type TriedSubject,
} from '../../../domain/decision.ts';
import { AppError } from '../../../domain/errors.ts';
import { isOnTrial, type Rule, waitsForPerson } from '../../../domain/rule.ts';
import type { HttpDeps, RuleDetail } from '../../http/deps.ts';
import { type Problem, problemOf } from '../../http/problem.ts';
import { type Ctx, param, type Route, readForm } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { limitWords } from '../../report/evidence-words.ts';
import { countText, listed, plural, verbOf } from '../../report/fact-text.ts';
import { Who } from '../../report/html/document.tsx';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Mark, Table, Term, When, Words } from '../../report/html/text.tsx';
import { within } from '../address.ts';
import { answerPage } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';
import { Narrow } from '../parts/act.tsx';
import { Facts, linesOf, lineText, problemsIn, rulePath, SourceBox, SourceProblems } from './rules.tsx';

// What differs between two texts, line by line.

interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

interface Hunk {
  /** The first line in each text, from 1. */
  before: number;
  after: number;
  lines: DiffLine[];
}

const AROUND = 3;
/** Pairs of lines that are compared: some ten milliseconds. */
const PAIRS_MAX = 2_000_000;

export function diffLines(before: readonly string[], after: readonly string[]): Hunk[] {
  return hunksOf(allLines(before, after));
}

function allLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }));
  return [
    ...same(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > PAIRS_MAX) return [...before.map(removed), ...after.map(added)];
  const common = commonLengths(before, after);
  const width = after.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [one, other] = [before[i], after[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      [i, j] = [i + 1, j + 1];
    } else if (one !== undefined && (other === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push(removed(one));
      i += 1;
    } else {
      lines.push(added(other as string));
      j += 1;
    }
  }
  return lines;

  function lengthAt(row: number, column: number): number {
    return common[row * width + column] ?? 0;
  }
}

/** How many lines the rests of both texts have in common, in order: at `i * (after.length + 1) + j` those from `i` and `j` on. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const below = (i + 1) * width + j;
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[below + 1] as number) + 1
          : Math.max(lengths[below] as number, lengths[i * width + j + 1] as number);
    }
  }
  return lengths;
}

function hunksOf(all: readonly DiffLine[]): Hunk[] {
  const hunks: Hunk[] = [];
  let open: Hunk | undefined;
  let lastChange = Number.NEGATIVE_INFINITY;
  let [before, after] = [1, 1];
  const changes = all.flatMap(({ kind }, at) => (kind === 'same' ? [] : [at]));
  let next = 0;
  for (const [at, line] of all.entries()) {
    for (; next < changes.length && (changes[next] as number) <= at; next += 1) lastChange = changes[next] as number;
    const isNear = at - lastChange <= AROUND || (changes[next] ?? Number.POSITIVE_INFINITY) - at <= AROUND;
    if (!isNear) open = undefined;
    else if (open) open.lines.push(line);
    else {
      open = { before, after, lines: [line] };
      hunks.push(open);
    }
    if (line.kind !== 'added') before += 1;
    if (line.kind !== 'removed') after += 1;
  }
  return hunks;
}

// What a person changed in the text of a rule, as a unified diff.

const LINES_MAX = 1_000;
const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

function TextDiff({ before, after }: { before: string; after: string }) {
  const hunks = diffLines(linesOf(before), linesOf(after));
  if (hunks.length === 0) return <p class="empty">The text is the same as the loaded one.</p>;
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  let left = LINES_MAX;
  return (
    <>
      <SourceBox label="What was changed in the text">
        {hunks.map((hunk) => {
          const lines = hunk.lines.slice(0, left);
          left -= lines.length;
          return lines.length === 0 ? null : (
            <>
              <span class="hunk">{`${headOf(hunk)}\n`}</span>
              {lines.map((line) => (
                <ChangedLine line={line} />
              ))}
            </>
          );
        })}
      </SourceBox>
      {total > LINES_MAX ? <p class="quiet">The rest of {countText(total)} lines is left out.</p> : null}
    </>
  );
}

function ChangedLine({ line: { kind, text } }: { line: DiffLine }) {
  const line = `${SIGNS[kind]} ${lineText(text)}\n`;
  if (kind === 'same') return <>{line}</>;
  return kind === 'added' ? <ins>{line}</ins> : <del>{line}</del>;
}

/** `@@ -3,7 +3,8 @@`, as of `diff -u`. */
function headOf({ before, after, lines }: Hunk): string {
  const count = (other: DiffLine['kind']) => lines.filter(({ kind }) => kind !== other).length;
  return `@@ -${before},${count('added')} +${after},${count('removed')} @@`;
}

// What a changed rule would match and do, compared with the rule in force: counts, who would be added, who would go,
// and what cannot be judged.

/** Rows of each list: more make a page that is slow to read. */
const SHOWN_MAX = 50;

function Tried({ tried, loaded }: { tried: TriedRule; loaded: Rule }) {
  const { rule, asOf, after, added, addedTotal, gone, goneTotal, same, unknownBy, untrusted } = tried;
  const both = { rule, loaded, asOf };
  return (
    <>
      <section class="card">
        <h2>What it would do</h2>
        <p class="lead">
          The changed rule matches {plural(after.match, rule.subject)}: {countText(addedTotal)} added,{' '}
          {countText(goneTotal)} gone, {countText(same)} the same. {triedWords(tried)}
        </p>
        <p>
          Read from the fleet, <When at={asOf} />. Nothing was sent, and nothing of this is kept: no run, no plan, no
          change of the loaded rule.
        </p>
        {untrusted.length === 0 ? null : (
          <div class="notice bad" role="alert">
            <b>Not trusted, so nothing would be done with that data:</b> <Words>{untrusted.join('; ')}</Words>.
          </div>
        )}
        <Counts tried={tried} loaded={loaded} />
      </section>
      <Subjects id="added" title="Added" total={addedTotal} subjects={added} none="Nobody is added." {...both} />
      <Subjects id="gone" title="Gone" total={goneTotal} subjects={gone} none="Nobody goes." {...both} />
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

/** What will happen, also in time: `It would ban 22 devices within 3 days if they still match.` */
function triedWords({ rule, after }: TriedRule): string {
  const { match, act, hold, waits, cools, outside } = after;
  if (match === 0) return '';
  if (isOnTrial(rule.mode)) return `${countText(match)} match; the rule only reports.`;
  const asks = waitsForPerson(rule.mode) ? 'ask to ' : '';
  const would = [
    ...(act > 0 ? [actionWords(rule, act)] : []),
    ...(hold > 0 ? [`hold ${countText(hold)}`] : []),
    ...(outside > 0 ? [`${asks}${actionWords(rule, outside)} when it may act, if they still match then`] : []),
    ...(cools > 0
      ? [`${asks}${actionWords(rule, cools)} within ${spanText(rule.cooldownMs)} of the last attempt`]
      : []),
    ...(waits > 0
      ? [
          `${asks}${actionWords(rule, waits)} within ${spanText(rule.forMs)} if ${waits === 1 ? 'it still matches' : 'they still match'}`,
        ]
      : []),
  ];
  return would.length === 0 ? 'It would do nothing about them: see why below.' : `It would ${listed(would)}.`;
}

function actionWords({ then, subject }: Pick<Rule, 'then' | 'subject'>, count: number): string {
  const [only, ...others] = then;
  const named = only && others.length === 0 ? verbOf(only.action) : undefined;
  return named?.noun === subject ? `${named.verb} ${plural(count, subject)}` : `do ${plural(count, 'action')}`;
}

const COUNTS: readonly (readonly [name: string, count: (counts: TriedCounts, rule: Rule) => number])[] = [
  ['Matches', ({ match }) => match],
  ['Unknown', ({ unknown }) => unknown],
  ['Errors', ({ error }) => error],
  ['Would act', ({ act }, { mode }) => (isOnTrial(mode) ? 0 : act)],
  ['Waits for its time', ({ waits, cools }) => waits + cools],
  ['Only reported', ({ act }, { mode }) => (isOnTrial(mode) ? act : 0)],
  ['Hold', ({ hold }) => hold],
  ['Skip', ({ skip, waits, cools }) => skip - waits - cools],
];

function Counts({ tried: { rule, before, after }, loaded }: { tried: TriedRule; loaded: Rule }) {
  const number = (head: string) => ({ head, kind: 'number' as const });
  const limits = [limitWords(loaded), limitWords(rule)];
  return (
    <Table
      caption="Counts before and after the change"
      columns={['Count', number('Rule in force'), number('Changed rule'), number('Difference')]}
      rows={[
        ...COUNTS.map(([text, count]) => {
          const [was, is] = [count(before, loaded), count(after, rule)];
          return { cells: [text, countText(was), countText(is), signed(is - was)] };
        }),
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
  rule: Rule;
  loaded: Rule;
}

function Subjects({ id, title, total, subjects, asOf, none, rule, loaded }: SubjectsProps) {
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
            <Decided decisions={subject.decided} rule={rule} />,
            <Decided decisions={subject.was} rule={loaded} />,
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

function decidedWords({ decision, reason }: TriedDecision, { mode }: Rule): string {
  if (LIFTED_BY_TIME.has(reason)) return 'waits';
  if (decision !== 'act') return decision;
  return isOnTrial(mode) ? 'only reported' : 'would act';
}

function Decided({ decisions, rule }: { decisions: readonly TriedDecision[]; rule: Rule }) {
  if (decisions.length === 0) return <span class="quiet">nothing</span>;
  return (
    <>
      {decisions.map((one) => (
        <div>
          <Mark word={one.decision} text={decidedWords(one, rule)} /> <Term>{one.action}</Term> on{' '}
          <Code>{one.target}</Code>
          <div class="quiet">
            <Words>{one.reasonText}</Words>
          </div>
        </div>
      ))}
    </>
  );
}

/** Browsers wait about that long for an answer. */
const WAIT_MS_MAX = 4 * 60_000;

const tryForm = z.strictObject({ text: z.string() });

/** What came of a trial. */
type Came = { tried: TriedRule } | { problem: Problem } | 'late';

export function tryPages(deps: HttpDeps): Route[] {
  const path = '/rules/:id/try';
  return [
    {
      method: 'GET',
      path,
      scope: 'trigger',
      handle: async (context) => answerPage(deps, context, pageOf(await deps.ruleDetail(param(context, 'id')))),
    },
    { method: 'POST', path, scope: 'trigger', handle: (context) => tryText(deps, context) },
  ];
}

async function tryText(deps: HttpDeps, context: Ctx): Promise<Response> {
  const detail = await deps.ruleDetail(param(context, 'id'));
  const sent = (await readForm(context, tryForm)).text;
  // A form sends each end of a line as CR LF.
  const text = sent.replaceAll('\r\n', '\n');
  const came = await trial(deps, detail.rule.id, text, context.var.caller.name);
  const status = came === 'late' ? 504 : 'problem' in came ? came.problem.status : 200;
  return answerPage(deps, context, pageOf(detail, { text, came }), status);
}

/** Errors that are not for people are thrown on. */
async function trial(deps: HttpDeps, id: string, text: string, by: string): Promise<Came> {
  try {
    const tried = await within(deps, WAIT_MS_MAX, deps.tryRule(id, text, by));
    return tried ? { tried } : 'late';
  } catch (error) {
    const problem = error instanceof AppError ? problemOf(error) : undefined;
    if (!problem) throw error;
    return { problem };
  }
}

function pageOf({ rule, text: loaded }: RuleDetail, given?: { text: string; came: Came }): PageContent {
  const text = given?.text ?? loaded;
  return {
    title: `Try a change of ${rule.id}`,
    section: '/rules',
    live: 'run',
    body: (
      <>
        <h1>
          Try a change of <Code>{rule.id}</Code>
        </h1>
        <p>
          What would it match and do over the present fleet? Nothing is sent, and nothing is kept: the loaded rule and
          its file stay as they are. <Link href={rulePath(rule.id)}>Back to the rule</Link>
        </p>
        {given === undefined ? null : (
          <>
            {given.came === 'late' ? <Late /> : null}
            {typeof given.came === 'object' && 'problem' in given.came ? (
              <Refused problem={given.came.problem} text={text} file={rule.file} />
            ) : null}
            <section class="card">
              <h2>What was changed</h2>
              <TextDiff before={loaded} after={text} />
            </section>
            {typeof given.came === 'object' && 'tried' in given.came ? (
              <Tried tried={given.came.tried} loaded={rule} />
            ) : null}
          </>
        )}
        <section class="card">
          <h2>The text</h2>
          <Form method="post" action={`${rulePath(rule.id)}/try`}>
            <label class="field">
              <span>
                The whole text of <Words>{rule.file}</Words>. Keep its id: another id would be another rule.
              </span>
              {/* The first line feed after the tag does not count. */}
              <textarea name="text" rows={24} spellcheck={false} autocomplete="off" wrap="off" required>
                {`\n${text}`}
              </textarea>
            </label>
            <button type="submit" class="main">
              Try
            </button>
            <p class="waiting" role="status">
              The fleet is being read twice: for the loaded rule, and for the changed one.{' '}
              <span id="progress" data-trial={rule.id}></span>
            </p>
          </Form>
        </section>
      </>
    ),
  };
}

function Refused({
  problem: { slug, title, problemDetail },
  text,
  file,
}: {
  problem: Problem;
  text: string;
  file: string;
}) {
  return (
    <section class="card" role="alert">
      <h2>Not tried: {slug === 'rules' ? 'the text has mistakes' : title.toLowerCase()}</h2>
      <SourceProblems text={text} problems={problemsIn(problemDetail, file)} />
    </section>
  );
}

function Late() {
  return (
    <div class="notice bad" role="alert">
      <b>There is no result yet.</b> Reading the fleet twice takes longer than {WAIT_MS_MAX / 60_000} minutes, other
      work was before it, or Trustward is shutting down. The trial ends by itself; nothing was sent, and nothing is
      kept. Try again when no run is under way.
    </div>
  );
}
