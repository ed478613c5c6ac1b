// endpoint: something that is read again when it may have changed. In: a reading. Out: at most one at a time, and one more for whatever changed
// meanwhile.
export class Latest {
  private isReading = false;
  private isAsked = false;

  /** `failed` receives what a reading throws; the next ask reads again. */
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
      await this.read().catch(this.failed);
    }
    this.isReading = false;
  }
}
