// domain: a text as one word of a shell, of a file of environment variables, or of a unit file: quoted where it has to be.

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
