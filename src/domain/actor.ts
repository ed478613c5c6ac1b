// domain: how records name the person who did something. In: the user of the operating system, and the token if one was used.
// Out: one text. INVARIANT: a token's name has no space and no parenthesis, so neither form is ever the name of a token
// or of Trustward itself.

/** The header in which the command line names its user to a daemon, percent-encoded. */
export const USER_HEADER = 'Trustward-User';

const USER = /^[^\p{C}()]{1,64}$/u;

/** Whether records can name a user of the operating system like this. */
export function isUserName(text: string): boolean {
  return text.trim() !== '' && USER.test(text);
}

/** A command without a daemon: `ana (command line)`. */
export function atCommandLine(user: string): string {
  return `${user} (command line)`;
}

/** A command that a daemon does for the holder of a token: `ana (token admin)`. */
export function withToken(user: string, token: string): string {
  return `${user} (token ${token})`;
}

/** A person at the terminal of a daemon who signed in to its page: `ana (page)`. */
export function onPage(user: string): string {
  return `${user} (page)`;
}

/** Whom an identity provider vouched for. INVARIANT: `issuer` and `sub` name the person; an address may be another's tomorrow. */
export interface Person {
  /** Verified by the provider. */
  email: string;
  sub: string;
  issuer: string;
}

/** `ana@example.com (00u1 at https://id.example.com)`. INVARIANT: no other form has ` at `, since neither names of users nor of tokens do so in parentheses. */
export function asPerson({ email, sub, issuer }: Person): string {
  return `${email} (${inParentheses(sub)} at ${issuer})`;
}

/** Undefined for an actor of another form. */
export function personOf(actor: string): Person | undefined {
  const [, email, sub, issuer] = /^([^\s()]+) \(([^\s()]+) at (https?:\/\/[^\s()]+)\)$/.exec(actor) ?? [];
  if (email === undefined || sub === undefined || issuer === undefined) return undefined;
  return { email, sub: decodeURIComponent(sub), issuer };
}

/** As lines for people have it; records have the whole of it. */
export function actorText(actor: string): string {
  return personOf(actor)?.email ?? actor;
}

/** Any text of a provider, of which no other actor can be made. */
function inParentheses(text: string): string {
  return encodeURIComponent(text).replace(/[()]/g, (one) => (one === '(' ? '%28' : '%29'));
}

/** The token of `ana (token admin)`; a text of another form as it is. */
export function tokenOf(actor: string): string {
  return /^[^()]+ \(token ([^()]+)\)$/.exec(actor)?.[1] ?? actor;
}
