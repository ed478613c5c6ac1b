// report: lines of the shared tables and sentences as HTML. In: lines that may hold hostile names. Out: elements; what is whole is one
// text to select.
import { type CellLine, partsOf } from '../marked.ts';
import { Code, Words } from './text.tsx';

export function Line({ of }: { of: CellLine }) {
  return <div>{partsOf(of).map(({ text, isWhole }) => (isWhole ? <Code>{text}</Code> : <Words>{text}</Words>))}</div>;
}

/** Sentences of one paragraph; nothing without any. */
export function Sentences({ of, tone }: { of: readonly string[]; tone?: string }) {
  const shown = of.filter((text) => text !== '');
  if (shown.length === 0) return null;
  return (
    <p class={tone}>
      {shown.map((text) => (
        <>
          <Words>{text}</Words>{' '}
        </>
      ))}
    </p>
  );
}
