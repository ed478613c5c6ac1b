// web: the record of a subject as the platform has it now: what matters first. In: a record without secrets. Out: paths and values.
import { type Fact, isFacts } from '../../../domain/facts.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import type { Why } from '../../../domain/why.ts';
import { factText, plural } from '../../../report/fact-text.ts';
import { Code, Words } from '../../../report/html/text.tsx';

const FACTS_MAX = 300;
const DEPTH_MAX = 6;

/** Paths that begin so, in this order, go before the rest. */
const KEY_PATHS: Record<SubjectKind, readonly string[]> = {
  device: [
    'Banned',
    'MdmData.',
    'TrustData.Level',
    'TrustData.',
    'Ownership',
    'Platform',
    'OS',
    'AppVersion',
    'LastLogin',
  ],
  user: ['Groups', 'Roles', 'TrustData.Level', 'TrustData.', 'SerialNumbers', 'LastLogin'],
  service: ['Enabled', 'ServiceType', 'Domain', 'Port', 'Protocol', 'UserFacing'],
};
const KEY_MAX = 8;

export function FactsCard({ why: { record, subject, at: atMs, unread } }: { why: Why }) {
  if (record === undefined) {
    const text = unread === undefined ? 'The platform has no record of this id.' : 'Its record could not be read now.';
    return (
      <section class="card">
        <h2>Facts</h2>
        <p class="empty">{text}</p>
      </section>
    );
  }
  const all = inOrder(leavesOf(record), KEY_PATHS[subject.kind]);
  const key = all.filter(({ rank, value }) => rank >= 0 && !Array.isArray(value)).slice(0, KEY_MAX);
  const shown = all.slice(0, FACTS_MAX);
  return (
    <section class="card">
      <h2>Facts</h2>
      <FactList facts={key} atMs={atMs} />
      <details>
        <summary>All {plural(all.length, 'fact')} of its record, read now</summary>
        <FactList facts={shown} atMs={atMs} />
        {all.length > shown.length ? <p class="quiet">and {all.length - shown.length} more</p> : null}
      </details>
    </section>
  );
}

interface Leaf {
  path: string;
  value: Fact;
}

function FactList({ facts, atMs }: { facts: readonly Leaf[]; atMs: number }) {
  if (facts.length === 0) return null;
  return (
    <dl class="facts">
      {facts.map(({ path, value }) => (
        <>
          <dt>
            <Code>{path}</Code>
          </dt>
          <dd>
            <Words>{factText(path, value, atMs)}</Words>
          </dd>
        </>
      ))}
    </dl>
  );
}

function leavesOf(value: Fact, path = '', depth = 0): Leaf[] {
  if (!isFacts(value) || depth >= DEPTH_MAX) return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner, path === '' ? name : `${path}.${name}`, depth + 1),
  );
}

function inOrder(leaves: readonly Leaf[], first: readonly string[]): (Leaf & { rank: number })[] {
  const rankOf = (path: string) =>
    first.findIndex((key) => path === key || (key.endsWith('.') && path.startsWith(key)));
  const ranked = leaves.map((leaf) => ({ ...leaf, rank: rankOf(leaf.path) }));
  const place = (rank: number) => (rank < 0 ? first.length : rank);
  return ranked.sort((a, b) => place(a.rank) - place(b.rank));
}
