// cli: `doctor`: the result of one check. Each is one line for people: what is the case, and what to do about a
// problem.

export interface Check {
  name: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
  /** What to do; undefined when there is nothing to do. */
  advice?: string;
}

export function ok(name: string, text: string): Check {
  return { name, state: 'ok', text };
}

export function warning(name: string, text: string, advice: string): Check {
  return { name, state: 'warning', text, advice };
}

export function problem(name: string, text: string, advice: string): Check {
  return { name, state: 'problem', text, advice };
}

export function countOfWords(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
