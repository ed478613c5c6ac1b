// web: the text of a rule file with line numbers, and what is wrong at a line. In: a text, which is hostile, and problems. Out: lines that a
// link can lead to. Hidden characters are spelled out.
import type { Child } from 'hono/jsx';
import { showHidden } from '../../../report/hostile-text.ts';
import { Words } from '../../../report/html/text.tsx';

const LINES_MAX = 2_000;
const AROUND = 2;

export function Source({ text, label }: { text: string; label: string }) {
  const lines = linesOf(text);
  return (
    <>
      <SourceBox label={label}>
        {lines.slice(0, LINES_MAX).map((line, at) => (
          <Line no={at + 1} text={line} id={`L${at + 1}`} />
        ))}
      </SourceBox>
      {lines.length > LINES_MAX ? <p class="quiet">The rest of {lines.length} lines is left out.</p> : null}
    </>
  );
}

export interface SourceProblem {
  /** From 1; undefined: of the whole text. */
  line: number | undefined;
  text: string;
}

/** `x.yaml:3:7: message`, as loading reports them, one a line. */
export function problemsIn(message: string, file: string): SourceProblem[] {
  return message.split('\n').map((text) => {
    const rest = text.startsWith(`${file}:`) ? text.slice(file.length + 1) : '';
    const [, line, column, words] = /^(\d+):(\d+): (.*)$/s.exec(rest) ?? [];
    return words === undefined ? { line: undefined, text } : { line: Number(line), text: `column ${column}: ${words}` };
  });
}

/** Each problem below its line, with the lines around it. */
export function SourceProblems({ text, problems }: { text: string; problems: readonly SourceProblem[] }) {
  const lines = linesOf(text);
  const near = (no: number) => problems.some(({ line }) => line !== undefined && Math.abs(line - no) <= AROUND);
  const shown = lines.flatMap((line, at) => (near(at + 1) ? [{ no: at + 1, line }] : []));
  return (
    <>
      <ul>
        {problems.map(({ line, text: words }) => (
          <li>
            {line === undefined ? null : <b>Line {line}, </b>}
            <Words>{words}</Words>
          </li>
        ))}
      </ul>
      {shown.length === 0 ? null : (
        <SourceBox label="The lines with problems">
          {shown.map(({ no, line }, at) => (
            <>
              {at > 0 && shown[at - 1]?.no !== no - 1 ? '⋮\n' : ''}
              <Line no={no} text={line} />
              {problems.map((problem) =>
                problem.line === no ? <b class="wrong">{`▲ ${showHidden(problem.text)}\n`}</b> : null,
              )}
            </>
          ))}
        </SourceBox>
      )}
    </>
  );
}

/** Long lines are reached with the keyboard, too. */
export function SourceBox({ label, children }: { label: string; children?: Child }) {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <pre class="source">{children}</pre>
    </section>
  );
}

function Line({ no, text, id }: { no: number; text: string; id?: string }) {
  return (
    <>
      <span class="no" id={id}>
        {`${no} `}
      </span>
      {`${lineText(text)}\n`}
    </>
  );
}

export function lineText(line: string): string {
  return showHidden(line.replaceAll('\t', '  '));
}

export function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
