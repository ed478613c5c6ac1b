// report: the way to another page, in HTML: links and forms. In: the path of a page, and the base that the pages have here, such as
// `/orgs/acme`. Out: elements whose addresses begin with the base. INVARIANT: no page writes `<a` or `<form` by itself, so none leaves it.
import { createContext, type JSX, useContext } from 'hono/jsx';

/** What all paths of pages begin with; empty where there is one organization alone, and in a file. */
export const Base = createContext('');

/** Where a path of ours is. Another address, such as `#part`, stays as it is. */
export function useAddress(): (path: string) => string {
  const base = useContext(Base);
  return (path) => (path.startsWith('/') ? `${base}${path}` : path);
}

type Attributes<T extends 'a' | 'form'> = JSX.IntrinsicElements[T];

export function Link(attributes: Attributes<'a'>) {
  return <a {...useBased(attributes)} />;
}

export function Form(attributes: Attributes<'form'>) {
  return <form {...useBased(attributes)} />;
}

const ADDRESSES = ['href', 'action', 'hx-get'];

function useBased<T extends object>(attributes: T): T {
  const at = useAddress();
  const pairs = Object.entries(attributes).map(([name, value]) =>
    ADDRESSES.includes(name) && typeof value === 'string' ? [name, at(value)] : [name, value],
  );
  return Object.fromEntries(pairs) as T;
}
