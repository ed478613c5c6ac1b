// What a composition opened, and closes in the end. In: one end for each thing, as it is opened. Out: one `close` for all.

/** Closes what was opened in reverse order, once. One that fails keeps none of the others open; the last failure is thrown. */
export class Closing {
  private readonly ends: (() => Promise<void> | void)[] = [];

  add(end: () => Promise<void> | void): void {
    this.ends.push(end);
  }

  readonly close = async (): Promise<void> => {
    const end = this.ends.pop();
    try {
      await end?.();
    } finally {
      if (end) await this.close();
    }
  };
}
