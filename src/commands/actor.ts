// commands: the user of the operating system who gives a command. In: nothing. Out: the name, or the user id without a name, in the
// form that records allow.
import { userInfo } from 'node:os';
import { atCommandLine } from '../domain/actor.ts';

const NAME_MAX = 64;

/** `ana`, or `uid 1000` for a user without a name. */
export function userHere(): string {
  const name = nameHere()
    .replace(/[\p{C}()]/gu, '_')
    .slice(0, NAME_MAX);
  return name.trim() === '' ? 'nameless' : name;
}

/** Who does something without a daemon: `ana (command line)`. */
export function actorHere(): string {
  return atCommandLine(userHere());
}

function nameHere(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
