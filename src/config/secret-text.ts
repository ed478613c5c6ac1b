// Configuration: a secret as its file has it. In: the text of the file. Out: the first line, and whether it can be a credential.

export function secretIn(text: string): string | undefined {
  return text.split('\n')[0]?.trim() || undefined;
}

/** Characters that are not printable are not allowed in a header. */
export function isPrintable(secret: string): boolean {
  return /^[\x21-\x7e]+$/.test(secret);
}

/** The same form as the token of a first start: a shorter one can be guessed. */
export function isToken(secret: string): boolean {
  return /^[\w.~+/=-]{16,512}$/.test(secret);
}
