// rules: a family of operators, and the language that families make up. In: families. Out: all operators by name.
// A family's file has everything about its operators: how they are written and checked, what they compile to, their text,
// when they are constant, their mutants. A new family is one file and one line in index.ts.
import type { Form, Language } from '../check/scope.ts';

/** Operators by the names that rules write. */
export type Family = { readonly [name: string]: Form };

/** How many operands are "any number". */
export const MANY = 1_000;

/** The language of these families. Throws when a name is in two of them. */
export function languageOf(families: readonly Family[]): Language {
  const language = new Map<string, Form>();
  for (const [name, form] of families.flatMap((family) => Object.entries(family))) {
    if (language.has(name)) throw new Error(`two operators are named ${name}`);
    language.set(name, form);
  }
  return language;
}
