// web: trying a change of a rule: a box with its text, and what the changed text would do over the present fleet. In: a text. Out: a page with
// the result, or with what is wrong at which line; the text stays in the box either way. Nothing is sent or kept.

import { z } from 'zod';
import { AppError } from '../../../domain/errors.ts';
import type { TriedRule } from '../../../domain/tried-rule.ts';
import type { HttpDeps, RuleDetail } from '../../../http/deps.ts';
import { readForm } from '../../../http/form.ts';
import { type Problem, problemOf } from '../../../http/problem.ts';
import { type Ctx, param, type Route } from '../../../http/route.ts';
import { Form, Link } from '../../../report/html/link.tsx';
import { Code, Words } from '../../../report/html/text.tsx';
import { answerPage } from '../../answer.tsx';
import type { PageContent } from '../../layout.tsx';
import { within } from '../../within.ts';
import { rulePath } from '../rules.tsx';
import { TextDiff } from './diff.tsx';
import { problemsIn, SourceProblems } from './source.tsx';
import { Tried } from './tried.tsx';

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
