// http: trying out a changed rule. In: the text of its file. Out: what it would match and do over the present fleet, as JSON.
import { z } from 'zod';
import { isoTime } from '../../domain/time-text.ts';
import type { TriedRule, TriedSubject } from '../../domain/tried-rule.ts';
import type { HttpDeps } from '../deps.ts';
import { readBody } from '../input.ts';
import { json, param, type Route } from '../route.ts';
import { ruleView } from '../rule-view.ts';

/** The whole text of the file, as YAML or JSON by the end of the rule's own file name. */
const tryBody = z.strictObject({ text: z.string().min(1) });

export function ruleRoutes({ tryRule }: HttpDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/rules/:id/try',
      scope: 'trigger',
      handle: async (context) => {
        const { text } = await readBody(context, tryBody);
        return json(triedView(await tryRule(param(context, 'id'), text, context.var.caller.name)));
      },
    },
  ];
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
