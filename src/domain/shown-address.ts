// domain: an address that a person gave, as a message may repeat it. In: any text. Out: the same without a user, a password or a query, also
// when it is no address at all: what is wrong with it is often where a secret stands.
import { textWithoutSecrets } from './secrets.ts';

export function shownAddress(text: string): string {
  const query = text.search(/[?#]/);
  const user = text.lastIndexOf('@');
  // A password may hold a `?` and a query an `@`: which of them it is cannot be known.
  if (query >= 0 && user >= 0) return '…';
  if (query >= 0) return `${textWithoutSecrets(text.slice(0, query + 1))}…`;
  return user < 0 ? textWithoutSecrets(text) : `…${textWithoutSecrets(text.slice(user))}`;
}
