// store: the WHERE of a statement, built from the filters that are given. In: conditions and values. Out: text and values.

export type Value = string | number;

export class Where {
  private readonly parts: string[] = [];
  readonly values: Value[] = [];

  /** Adds nothing without a value. */
  add(condition: string, value: Value | undefined, ...more: Value[]): void {
    if (value === undefined) return;
    this.parts.push(condition);
    this.values.push(value, ...more);
  }

  get text(): string {
    return this.parts.length === 0 ? '' : `WHERE ${this.parts.join(' AND ')}`;
  }
}
