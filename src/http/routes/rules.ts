// http: the loaded rules, and trying out a changed one. In: requests; the text of a rule's file. Out: rules as JSON; what a changed one
// would match and do over the present fleet.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { nextOf } from '../../domain/record-reader.ts';
import { isoTime } from '../../domain/time-text.ts';
import type { TriedRule, TriedSubject } from '../../domain/tried-rule.ts';
import type { HttpDeps } from '../deps.ts';
import { idParam, limitField, nameField } from '../input.ts';
import { operation } from '../operation.ts';
import { pageSchema, total } from '../paging.ts';
import { json, type Route } from '../route.ts';
import { ruleView } from '../rule-view.ts';

const listQuery = z.strictObject({
  limit: limitField,
  after: nameField.optional().describe('`next` of the page before'),
});
const tryBody = z.strictObject({
  text: z
    .string()
    .min(1)
    .describe("the whole text of the file, as YAML or JSON by the end of the rule's own file name"),
});

export function ruleRoutes({ rules: all, ruleRefusal, tryRule, schemas }: HttpDeps): Route[] {
  const rules = () => loaded(all(), ruleRefusal());
  return [
    operation({
      method: 'GET',
      path: '/api/rules',
      scope: 'read',
      operationId: 'listRules',
      tag: 'rules',
      summary: 'List the loaded rules',
      query: listQuery,
      answers: {
        200: {
          description: 'a page of rules by their ids, also of those that are off',
          schema: pageSchema('rules', schemas.rule, { total }),
        },
      },
      refusals: [409],
      handle: (_context, { query: { limit, after = '' } }) => {
        const sorted = [...rules()].sort((one, other) => (one.id < other.id ? -1 : 1));
        const page = sorted.filter(({ id }) => id > after).slice(0, limit);
        return json({ rules: page.map(ruleView), total: sorted.length, next: nextOf(page, limit) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/rules/:id',
      scope: 'read',
      operationId: 'getRule',
      tag: 'rules',
      summary: 'Read a rule',
      params: idParam('a rule'),
      answers: { 200: { description: 'the rule', schema: schemas.rule } },
      refusals: [409],
      handle: (_context, { params: { id } }) => {
        const rule = rules().find((one) => one.id === id);
        if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
        return json(ruleView(rule));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/rules/:id/try',
      scope: 'trigger',
      operationId: 'tryRule',
      tag: 'rules',
      summary: 'Try a changed text of a rule over the present fleet',
      description: 'Nothing is sent, and nothing is kept.',
      params: idParam('a rule'),
      body: tryBody,
      answers: {
        200: { description: 'what it would match and do, beside the rule in force', schema: schemas.triedRule },
      },
      refusals: [409, 502],
      handle: async (context, { params, body }) =>
        json(triedView(await tryRule(params.id, body.text, context.var.caller.name))),
    }),
  ];
}

/** A folder that was refused and never had a good set is no empty list. Errors: AppError `rules`. */
function loaded<T>(all: readonly T[], refusal: readonly string[] | undefined): readonly T[] {
  if (all.length > 0 || refusal === undefined) return all;
  throw new AppError('rules', ['no rules are loaded, since the folder was refused:', ...refusal].join('\n'));
}

function triedView({ rule, asOf, added, gone, ...rest }: TriedRule) {
  return {
    rule: ruleView(rule),
    asOf: isoTime(asOf),
    ...rest,
    added: added.map(subjectView),
    gone: gone.map(subjectView),
  };
}

function subjectView({ serial, owners, ...rest }: TriedSubject) {
  return { ...rest, serial: serial === '' ? null : serial, owners: owners ?? null };
}
