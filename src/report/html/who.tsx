// report: a subject or target as people know it, in HTML: name, serial number, owners and id. In: what is known of it. Out: elements; with
// a link to its page when there are pages.

import type { SubjectKind } from '../../domain/subjects.ts';
import type { Who as KnownSubject } from '../who.ts';
import { Link } from './link.tsx';
import { Code, Name } from './text.tsx';

const OWNERS_MAX = 3;

/** Where the page of a subject is; undefined in a file that is mailed. */
export function subjectPath(kind: SubjectKind, id: string): string {
  return `/subjects/${kind}/${encodeURIComponent(id)}`;
}

/** `shown`: the serial number that stands beside it already. */
export function Who({ who, href, shown }: { who: KnownSubject; href?: string | undefined; shown?: string }) {
  const { id, name, serial, owners } = who;
  const title = name && name !== id ? <Name>{name}</Name> : <Code>{id}</Code>;
  const all = owners ?? [];
  return (
    <span class="who">
      {href === undefined ? <b>{title}</b> : <Link href={href}>{title}</Link>}
      {serial && serial !== id && serial !== shown ? (
        <span>
          serial <Code>{serial}</Code>
        </span>
      ) : null}
      {all.length > 0 ? (
        <span>
          {all.slice(0, OWNERS_MAX).map((owner, at) => (
            <>
              {at > 0 ? ', ' : ''}
              <Code>{owner}</Code>
            </>
          ))}
          {all.length > OWNERS_MAX ? ` and ${all.length - OWNERS_MAX} more` : ''}
        </span>
      ) : null}
      {name && name !== id ? (
        <span class="quiet">
          <Code>{id}</Code>
        </span>
      ) : null}
    </span>
  );
}
