// management client: an authorizer whose credential may be replaced while requests are under way. In: the authorizer of the credential in
// force. Out: grants. A request that was refused with a replaced credential only needs to be sent again.
import { AppError } from '../../domain/errors.ts';
import type { Authorizer, Grant } from './credentials.ts';

/** Called after a 401: reads the credential again where it came from, and returns once another one, if any, is in force. */
export type AskForAnother = () => Promise<void>;

export class LiveAuthorizer implements Authorizer {
  #inner: Authorizer;
  readonly #ask: AskForAnother | undefined;
  readonly #granted = new WeakMap<Grant, Authorizer>();

  constructor(inner: Authorizer, ask: AskForAnother | undefined) {
    this.#inner = inner;
    this.#ask = ask;
  }

  replace(inner: Authorizer): void {
    this.#inner = inner;
  }

  async current(): Promise<Grant> {
    const inner = this.#inner;
    try {
      return await this.#grantOf(inner);
    } catch (error) {
      // A refresh token that is refused: the next one may be there already.
      const isRefused = error instanceof AppError && error.code === 'api_refused';
      if (!isRefused || !(await this.#isReplaced(inner))) throw error;
      return this.#grantOf(this.#inner);
    }
  }

  async renew(refused: Grant): Promise<boolean> {
    const inner = this.#granted.get(refused) ?? this.#inner;
    return (await this.#isReplaced(inner)) || inner.renew(refused);
  }

  async #grantOf(inner: Authorizer): Promise<Grant> {
    const grant = await inner.current();
    this.#granted.set(grant, inner);
    return grant;
  }

  async #isReplaced(inner: Authorizer): Promise<boolean> {
    if (inner === this.#inner) await this.#ask?.();
    return inner !== this.#inner;
  }
}
