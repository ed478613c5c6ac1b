// web: what a person changed in the text of a rule, as a unified diff. In: both texts, the new one hostile. Out: a section. Signs show what
// was removed and added, not colours alone.
import { countText } from '../../../report/fact-text.ts';
import { type DiffLine, diffLines, type Hunk } from './line-diff.ts';
import { linesOf, lineText, SourceBox } from './source.tsx';

const LINES_MAX = 1_000;
const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

export function TextDiff({ before, after }: { before: string; after: string }) {
  const hunks = diffLines(linesOf(before), linesOf(after));
  if (hunks.length === 0) return <p class="empty">The text is the same as the loaded one.</p>;
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  let left = LINES_MAX;
  return (
    <>
      <SourceBox label="What was changed in the text">
        {hunks.map((hunk) => {
          const lines = hunk.lines.slice(0, left);
          left -= lines.length;
          return lines.length === 0 ? null : (
            <>
              <span class="hunk">{`${headOf(hunk)}\n`}</span>
              {lines.map((line) => (
                <ChangedLine line={line} />
              ))}
            </>
          );
        })}
      </SourceBox>
      {total > LINES_MAX ? <p class="quiet">The rest of {countText(total)} lines is left out.</p> : null}
    </>
  );
}

function ChangedLine({ line: { kind, text } }: { line: DiffLine }) {
  const line = `${SIGNS[kind]} ${lineText(text)}\n`;
  if (kind === 'same') return <>{line}</>;
  return kind === 'added' ? <ins>{line}</ins> : <del>{line}</del>;
}

/** `@@ -3,7 +3,8 @@`, as of `diff -u`. */
function headOf({ before, after, lines }: Hunk): string {
  const count = (other: DiffLine['kind']) => lines.filter(({ kind }) => kind !== other).length;
  return `@@ -${before},${count('added')} +${after},${count('removed')} @@`;
}
