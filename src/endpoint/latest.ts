// endpoint: something that is read again when it may have changed. In: a reading. Out: at most one at a time, and one more for whatever changed
// meanwhile. Of failures that follow each other the first is reported.
export class Latest {
  private isReading = false;
  private isAsked = false;
  private isFailing = false;

  /** `failed` receives what a reading throws, once until one succeeds; the next ask reads again. */
  constructor(
    private readonly read: () => Promise<void>,
    private readonly failed: (error: unknown) => void,
  ) {}

  ask(): void {
    this.isAsked = true;
    if (!this.isReading) void this.readAll();
  }

  private async readAll(): Promise<void> {
    this.isReading = true;
    while (this.isAsked) {
      this.isAsked = false;
      await this.readOnce();
    }
    this.isReading = false;
  }

  private async readOnce(): Promise<void> {
    try {
      await this.read();
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.failed(error);
      this.isFailing = true;
    }
  }
}
