// What a composition opened, and closes in the end. In: one end for each thing, as it is opened. Out: one `close` for all.

/** Closes what was opened in reverse order, once. */
export class Closing {
  private readonly ends: (() => Promise<void> | void)[] = [];

  add(end: () => Promise<void> | void): void {
    this.ends.push(end);
  }

  readonly close = async (): Promise<void> => {
    for (let end = this.ends.pop(); end; end = this.ends.pop()) await end();
  };
}
