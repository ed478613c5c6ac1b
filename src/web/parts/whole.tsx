// web: a long text as it is, such as JSON: its lines stay lines, and hidden characters are spelled out. In: any text. Out: a block.
import { spellHidden } from '../../report/hostile-text.ts';

/** `max`: characters that are shown. */
export function Whole({ children, max }: { children: string; max: number }) {
  const shown = children.slice(0, max);
  return (
    <>
      <pre class="whole">
        {shown
          .split('\n')
          .map((line) => spellHidden(line))
          .join('\n')}
      </pre>
      {shown.length < children.length ? (
        <p class="quiet">The rest of {children.length} characters is left out.</p>
      ) : null}
    </>
  );
}
