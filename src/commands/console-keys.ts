// commands: the API keys that `console` and `console keys add` get on their command lines. In: texts such as `audit:ReadOnly`. Out: names,
// scopes and the labels that they are printed with. It never sees a secret.
import { AppError } from '../domain/errors.ts';
import { KEY_SCOPES, type KeyScope } from '../management/contract.ts';

export interface KeyRequest {
  name: string;
  scope: KeyScope;
  /** The label before the secret, a name that a shell accepts: `API_KEY_AUDIT`. */
  label: string;
}

/**
 * `taken`: a name that the console itself uses. Errors: AppError `usage` for a text that is not NAME:SCOPE, an unknown
 * scope, the taken name, or two keys with one label.
 */
export function readKeyRequests(texts: readonly string[], taken: string, option = '--api-key'): KeyRequest[] {
  const requests: KeyRequest[] = [];
  for (const text of texts) {
    const refused = (of: string, why: string) => new AppError('usage', `${option} is \`${of}\`: ${why}`);
    const request = readKeyRequest(text, refused);
    if (request.name === taken) throw refused(text, 'the console has a key of this name, give another one');
    const twin = requests.find((each) => each.label === request.label);
    if (twin) throw refused(text, `\`${twin.name}\` has the same label ${request.label}, give another name`);
    requests.push(request);
  }
  return requests;
}

function readKeyRequest(text: string, refused: (text: string, why: string) => AppError): KeyRequest {
  const [, name, scopeText] = /^([A-Za-z][\w-]{0,63}):(.*)$/.exec(text) ?? [];
  if (name === undefined) {
    throw refused(text, 'expected NAME:SCOPE such as audit:ReadOnly, the name of letters, digits, `_` and `-`');
  }
  const scope = KEY_SCOPES.find((each) => each === scopeText);
  if (!scope) throw refused(text, `expected one of the scopes ${KEY_SCOPES.join(', ')}`);
  return { name, scope, label: `API_KEY_${name.toUpperCase().replaceAll('-', '_')}` };
}
