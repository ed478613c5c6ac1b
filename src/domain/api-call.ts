// domain: one request to the Management API as measurements see it: which operation, what came of it, how long it took. It holds no
// address, no parameter and no value.

/** One attempt. Each retry is one more. */
export interface ApiCall {
  /** The operation's name, such as `list_devices`: never an address. */
  operation: string;
  /** The status of the answer, or the cause without one: `200`, `too_slow`, `unreachable`. */
  answer: string;
  /** Until the last byte; of a list that is read element by element, until the answer began. */
  ms: number;
}

/** Called often: each returns at once and never throws. */
export interface ApiListener {
  called(call: ApiCall): void;
  /** A read failed and will be tried again. */
  retried(operation: string): void;
}
