// web: the way to the rest of a list. In: the address of the next page. Out: a link, or nothing at the end.
import { Link } from '../../report/html/link.tsx';

export function Pager({ next, text = 'Older' }: { next: string | undefined; text?: string }) {
  if (next === undefined) return null;
  return (
    <nav aria-label="More">
      <Link class="button" href={next} rel="next">
        {text}
      </Link>
    </nav>
  );
}
