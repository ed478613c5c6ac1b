// Configuration: the lists that devices and users are read from. In: configuration names. Out: a version, or a fault. It is never chosen by
// what a server answers: another version has other facts, and rules would lose them unnoticed.
import { LISTS, type Lists } from '../domain/lists.ts';
import { ConfigReader, type Environment } from './reader.ts';

export function readLists(names: ConfigReader): Lists {
  return names.choice('TRUSTWARD_API_LISTS', LISTS, 'v1');
}

/** For commands that read no other setting. Errors: AppError `config`. */
export function listsOf(env: Environment): Lists {
  const reader = new ConfigReader(env);
  const lists = readLists(reader);
  reader.finish();
  return lists;
}
