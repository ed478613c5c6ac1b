// web: a part of a page that reads itself again when something happened. In: audit kinds, by family. Out: a section; without JavaScript it
// is as it was when the page was loaded.
import type { Child } from 'hono/jsx';

interface LiveProps {
  id: string;
  /**
   * Families such as `run plan`; the page's content names them as `live`, too. Undefined: nothing happens to it any more. INVARIANT: a page
   * that was live has the part also when it is read again: what is not found is replaced by nothing.
   */
  on: string | undefined;
  path: string;
  /** Reads itself again this often as well: what happened before the stream was open is not missed. */
  everySeconds?: number;
  children: Child;
}

export function Live({ id, on, path, everySeconds, children }: LiveProps) {
  if (on === undefined) return <section id={id}>{children}</section>;
  const events = on.split(' ').map((family) => `live-${family} from:body throttle:1s`);
  const trigger = [...events, ...(everySeconds === undefined ? [] : [`every ${everySeconds}s`])].join(', ');
  return (
    <section id={id} hx-get={path} hx-select={`#${id}`} hx-trigger={trigger} hx-swap="outerHTML" hx-disinherit="*">
      {children}
    </section>
  );
}
