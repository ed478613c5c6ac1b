// Configuration: the lists that devices and users are read from. In: configuration names. Out: a version, or a fault. It is never chosen by
// what a server answers: another version has other facts, and rules would lose them unnoticed.
import { LISTS, type Lists } from '../domain/lists.ts';

interface Names {
  choice<T extends string>(name: string, values: readonly T[], fallback: T): T;
}

export function readLists(names: Names): Lists {
  return names.choice('TRUSTWARD_API_LISTS', LISTS, 'v1');
}
