// commands: the API keys that `console` is asked for on its command line.
// In: texts such as `audit:ReadOnly`. Out: names, scopes and the labels that they are told under. It never sees a secret.
import { AppError } from '../domain/errors.ts';
import { KEY_SCOPES, type KeyScope } from '../management/contract.ts';

export interface KeyWish {
  name: string;
  scope: KeyScope;
  /** What stands before the secret, a name that a shell takes: `API_KEY_AUDIT`. */
  label: string;
}

/** `taken`: a name that the console itself uses. AppError `usage`: not of the form NAME:SCOPE, an unknown scope, the taken name, or two keys that would be told under one label. */
export function readKeyWishes(texts: readonly string[], taken: string): KeyWish[] {
  const proposals: KeyWish[] = [];
  for (const text of texts) {
    const proposal = readKeyWish(text);
    if (proposal.name === taken) throw refused(text, 'the console has a key of this name, give another one');
    const twin = proposals.find((each) => each.label === proposal.label);
    if (twin) throw refused(text, `\`${twin.name}\` would be told as ${proposal.label} too, give another name`);
    proposals.push(proposal);
  }
  return proposals;
}

function readKeyWish(text: string): KeyWish {
  const [, name, scopeText] = /^([A-Za-z][\w-]{0,63}):(.*)$/.exec(text) ?? [];
  if (name === undefined) {
    throw refused(text, 'expected NAME:SCOPE such as audit:ReadOnly, the name of letters, digits, `_` and `-`');
  }
  const scope = KEY_SCOPES.find((each) => each === scopeText);
  if (!scope) throw refused(text, `expected one of the scopes ${KEY_SCOPES.join(', ')}`);
  return { name, scope, label: `API_KEY_${name.toUpperCase().replaceAll('-', '_')}` };
}

function refused(text: string, why: string): AppError {
  return new AppError('usage', `--api-key is \`${text}\`: ${why}`);
}
