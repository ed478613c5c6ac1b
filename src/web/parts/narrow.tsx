// web: narrowing the rows of a page by typing. In: the id of what has the rows. Out: a box that is only there with JavaScript.

export function Narrow({ scope, noun = 'rows' }: { scope: string; noun?: string }) {
  const [input, count] = [`${scope}-narrow`, `${scope}-count`];
  return (
    <div class="tools" hidden>
      <label for={input}>Show only {noun} with</label>
      <input id={input} type="search" data-filter={scope} aria-describedby={count} />
      <span id={count} class="quiet" aria-live="polite"></span>
    </div>
  );
}
