// web: a part of a page that reads itself again when something happened. In: audit kinds, by family. Out: a section; without JavaScript it
// is as it was when the page was loaded.

import type { Child } from 'hono/jsx';
import { useAddress } from '../../report/html/link.tsx';

interface LiveProps {
  id: string;
  /**
   * Families such as `run plan`; the page's content names them as `live`, too. Undefined: nothing happens to it any more. INVARIANT: a page
   * that was live has the part also when it is read again: what is not found is replaced by nothing.
   */
  on: string | undefined;
  path: string;
  children: Child;
}

export function Live({ id, on, path, children }: LiveProps) {
  const at = useAddress();
  if (on === undefined) return <section id={id}>{children}</section>;
  const trigger = on
    .split(' ')
    .map((family) => `live-${family} from:body throttle:1s`)
    .join(', ');
  return (
    <section id={id} hx-get={at(path)} hx-select={`#${id}`} hx-trigger={trigger} hx-swap="outerHTML" hx-disinherit="*">
      {children}
    </section>
  );
}
