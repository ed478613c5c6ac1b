// web: a part of a page that reads itself again when something happened. In: audit kinds, by family. Out: a section; without JavaScript it
// is as it was when the page was loaded.
import type { Child } from 'hono/jsx';

/** `on`: families such as `run plan`; the page's content names them as `live`, too. */
export function Live({ id, on, path, children }: { id: string; on: string; path: string; children: Child }) {
  const trigger = on
    .split(' ')
    .map((family) => `live-${family} from:body throttle:1s`)
    .join(', ');
  return (
    <section id={id} hx-get={path} hx-select={`#${id}`} hx-trigger={trigger} hx-swap="outerHTML" hx-disinherit="*">
      {children}
    </section>
  );
}
