// management client: removes our own secrets, and anything else secret, from a server's text before anybody reads it.
// In: text from answers. Out: the same without credentials, in one line. It must never be skipped: servers echo
// requests, and encode what they echo.
import { patternOf } from '../../domain/secret-forms.ts';
import { textWithoutSecrets } from '../../domain/secrets.ts';

const REMEMBERED_MAX = 16;

export class Redactor {
  #secrets: string[] = [];
  #pattern: RegExp | undefined;

  /** From now on this text is replaced. Old access tokens are forgotten in time, long-lived secrets come first. */
  add(secret: string): void {
    if (secret === '' || this.#secrets.includes(secret)) return;
    if (this.#secrets.length >= REMEMBERED_MAX) this.#secrets.splice(REMEMBERED_MAX / 2, 1);
    this.#secrets.push(secret);
    this.#pattern = patternOf(this.#secrets);
  }

  /** One line of at most `lengthMax` characters. */
  clean(text: string, lengthMax = 300): string {
    let clean = this.#pattern === undefined ? text : text.replace(this.#pattern, '[secret]');
    clean = textWithoutSecrets(clean);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a server's text must not control a terminal
    clean = clean.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
    return clean.length <= lengthMax ? clean : `${clean.slice(0, lengthMax - 1)}…`;
  }
}
