// Approvals: the file `approvals.yaml` at the top of a folder of rules → how many people have to say yes, checked; and the owners of `guards.yaml`.
// In: its value. Out: the approvals, or what is wrong with them.
import { posix } from 'node:path';
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { pathText } from '../../base/text.ts';
import { isUserName } from '../../domain/actor.ts';
import type { Approvals, Owner } from '../../domain/approvals.ts';
import type { Fact } from '../../domain/facts.ts';
import { SEVERITIES } from '../../domain/subjects.ts';
import { checkedBy, type Problems } from '../language/problem.ts';

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
    touch: z.boolean().exactOptional(),
    for: z
      .strictObject({
        rules: names.default([]),
        actions: names.default([]),
        severities: z.array(z.enum(SEVERITIES)).min(1).default([]),
        from: z.int().min(1).max(1_000_000).default(1),
      })
      .prefault({}),
  })
  .transform(({ not_self: notSelf, for: about, ...asked }) => ({ ...asked, notSelf, ...about }));

const schema = z.strictObject({
  approvals: z.array(approval).min(1).max(100).default([]),
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

const owners = z
  .array(
    z.strictObject({
      folder: z
        .string()
        .max(1_000)
        .refine(
          (folder) =>
            folder === '.' ||
            (!/[\\\p{C}]/u.test(folder) && folder.split('/').every((part) => !/^(\.\.?)?$/.test(part))),
          'expected a folder below the rules, such as `fleet/laptops`, or `.` for all of them',
        ),
      groups: names,
    }),
  )
  .min(1)
  .max(1_000);

/** What a set has: a name that nothing has would ask nobody. A rule that was refused is there all the same, so that such a set is not asked. */
export interface KnownNames {
  rules: readonly { id: string; file: string }[];
  actions: ReadonlyMap<string, unknown>;
}

/** Undefined with problems. */
export function readApprovals(value: Fact, known: KnownNames | undefined, problems: Problems): Approvals | undefined {
  const read = checkedBy(schema, value, { what: 'approvals' }, problems);
  if (read?.approvals.length === 0 && read.tokens.length === 0)
    problems.add('format', [], 'approvals: expected `approvals`, or `tokens` for the owners of `guards.yaml`');
  for (const [at, one] of (known ? (read?.approvals ?? []) : []).entries()) {
    for (const kind of ['rules', 'actions'] as const) {
      const there = new Set(kind === 'rules' ? known?.rules.map(({ id }) => id) : known?.actions.keys());
      for (const name of one[kind].filter((written) => !there.has(written))) {
        const what = `\`approvals[${at}].for.${kind}\`: there is no ${kind.slice(0, -1)} \`${name}\``;
        problems.add('value', ['approvals', at, 'for', kind], `${what}${didYouMean(name, there)}`);
      }
    }
  }
  return read;
}

/** `top`: the folder that the file lies in; `earlier`: those of other files, to which these are added. Undefined with problems. */
export function readOwners(
  value: Fact,
  { top, earlier, known }: { top: string; earlier: Set<string>; known: KnownNames | undefined },
  problems: Problems,
): Owner[] | undefined {
  const below = (file: string) => (top === '.' ? file : file.slice(top.length + 1));
  const files = (known?.rules ?? [])
    .filter(({ file }) => top === '.' || isBelow(file, top))
    .map(({ file }) => below(file));
  const there = new Set(['.', ...files.flatMap((file) => foldersOf(file))]);
  return checkedBy(owners, value, { at: ['owners'], what: 'approvals' }, problems)?.map(
    ({ folder: name, groups }, at) => {
      const [folder, place] = [posix.join(top, name), ['owners', at, 'folder']];
      if (known && !there.has(name))
        problems.add(
          'value',
          place,
          `\`${pathText(place)}\`: there is no rule in a folder \`${name}\`${didYouMean(name, there)}`,
        );
      if (earlier.has(folder))
        problems.add('value', place, `\`${pathText(place)}\`: the folder \`${name}\` has its owners already`);
      earlier.add(folder);
      return { folder, groups, rules: [] };
    },
  );
}

function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

function isBelow(file: string, folder: string): boolean {
  return folder === '.' || file.startsWith(`${folder}/`);
}

/** With the rules that each answers for: the nearest folder has them. */
export function ownersOf(owners: readonly Owner[], rules: KnownNames['rules']): Owner[] {
  const nearest = [...owners].sort((one, other) => depthOf(other) - depthOf(one));
  const ownerOf = new Map(rules.map(({ id, file }) => [id, nearest.find(({ folder }) => isBelow(file, folder))]));
  return owners.map((one) => ({
    ...one,
    rules: rules.flatMap(({ id }) => (ownerOf.get(id) === one ? [id] : [])),
  }));
}

function depthOf({ folder }: Owner): number {
  return folder === '.' ? 0 : folder.split('/').length;
}
