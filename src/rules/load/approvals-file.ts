// Approvals: the file `approvals.yaml` at the top of a folder of rules → how many people have to say yes, checked. In: its value. Out: the approvals,
// or what is wrong with them.
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { deepest, pathText, wordsOf } from '../../base/text.ts';
import { isUserName } from '../../domain/actor.ts';
import type { Approvals } from '../../domain/approvals.ts';
import type { Fact } from '../../domain/facts.ts';
import { SEVERITIES } from '../../domain/subjects.ts';
import type { Problems } from '../language/problem.ts';

const name = z.string().trim().min(1).max(200);
const names = z.array(name).min(1).max(100);
const address = z
  .string()
  .max(320)
  .regex(/^[^\s()@]+@[^\s()@]+$/, 'expected an e-mail address');

const approval = z
  .strictObject({
    people: z.int().min(1).max(10),
    groups: names.default([]),
    not_self: z.boolean().default(true),
    for: z
      .strictObject({
        rules: names.default([]),
        actions: names.default([]),
        severities: z.array(z.enum(SEVERITIES)).min(1).default([]),
        from: z.int().min(1).max(1_000_000).default(1),
      })
      .prefault({}),
  })
  .transform(({ people, groups, not_self: notSelf, for: about }) => ({ people, groups, notSelf, ...about }));

const schema = z.strictObject({
  approvals: z.array(approval).min(1).max(100),
  tokens: z
    .array(
      z.strictObject({
        token: z.string().refine((token) => isUserName(token) && !token.includes(' '), 'expected the name of a token'),
        email: address,
        groups: names.default([]),
      }),
    )
    .max(1_000)
    .refine((tokens) => new Set(tokens.map(({ token }) => token)).size === tokens.length, 'names a token twice')
    .default([]),
});

/** What a set has: a name that nothing has would ask nobody. A rule that was refused is there all the same, so that such a set is not asked. */
export interface KnownNames {
  rules: readonly { id: string }[];
  actions: ReadonlyMap<string, unknown>;
}

/** Undefined with problems. */
export function readApprovals(value: Fact, known: KnownNames | undefined, problems: Problems): Approvals | undefined {
  const read = schema.safeParse(value);
  for (const found of read.error?.issues ?? []) {
    const issue = deepest([found]);
    const place = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const where = place.length === 0 ? 'approvals' : `\`${pathText(place)}\``;
    problems.add('format', place, `${where} ${wordsOf(issue, value)}`);
  }
  for (const [at, one] of (known ? (read.data?.approvals ?? []) : []).entries()) {
    for (const kind of ['rules', 'actions'] as const) {
      const there = new Set(kind === 'rules' ? known?.rules.map(({ id }) => id) : known?.actions.keys());
      for (const name of one[kind].filter((written) => !there.has(written))) {
        const what = `\`approvals[${at}].for.${kind}\`: there is no ${kind.slice(0, -1)} \`${name}\``;
        problems.add('value', ['approvals', at, 'for', kind], `${what}${didYouMean(name, there)}`);
      }
    }
  }
  return read.data;
}
