// commands: `doctor`: what one check found. Each is one line for people: what is so, and when it is not well what to do.

export interface Check {
  name: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
  /** What to do; undefined when nothing is to be done. */
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
