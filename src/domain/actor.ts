// domain: how records name the person who did something. In: the user of the operating system, and the token if one was used. Out: one
// text. INVARIANT: a token's name has no space and no parenthesis, so neither form is ever the name of a token or of Trustward itself.

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

/** The token of `ana (token admin)`; a text of another form as it is. */
export function tokenOf(actor: string): string {
  return /^[^()]+ \(token ([^()]+)\)$/.exec(actor)?.[1] ?? actor;
}
