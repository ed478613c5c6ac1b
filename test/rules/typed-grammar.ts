// test: random conditions that check, and random complete device records, from one seeded generator.
// Every operator of json-logic-js occurs, and `count`; what the checks refuse by design is not made.
import type { Facts } from '../../src/domain/facts.ts';

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export class Grammar {
  private readonly random: () => number;
  constructor(seed: number) {
    this.random = seeded(seed);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)] as T;
  }
  private chance(share: number): boolean {
    return this.random() < share;
  }

  /** A complete record with few different values, so that conditions are true and false about equally often. */
  device(): Facts {
    const flag = (): string => this.pick(['TRUE', 'FALSE']);
    const text = (): string => this.pick(['', 'a', 'ab', 'b', 'Windows', 'macOS']);
    const score = (): number => this.pick([0, 1, 10, 50, 99, 100]);
    return {
      DeviceFriendlyName: text(),
      SerialNumber: text(),
      Platform: text(),
      Model: text(),
      Ownership: this.pick(['Corporate Dedicated', 'Employee Owned', 'Other', '']),
      RegisteredStatus: flag(),
      LoginCount: this.pick([0, 1, 2, 3, 10, 100]),
      LastLogin: this.pick([0, 1_700_000_000_000_000_000n, 1_700_000_000_000_000_001n]),
      Emails: this.texts(),
      Roles: this.texts(),
      MdmData: { CompromisedStatus: flag(), CompliantStatus: flag(), Source: text(), Timestamp: 0 },
      TrustData: {
        EntityTrustscore: score(),
        AccessTrustscore: score(),
        Level: this.pick(['AlwaysDeny', 'Low', 'Medium', 'High']),
        Factors: Array.from({ length: Math.floor(this.random() * 3) }, () => ({ Name: text(), Value: text() })),
      },
    };
  }

  private texts(): string[] {
    return Array.from({ length: Math.floor(this.random() * 4) }, () => this.pick(['a', 'b', 'ab', 'admin']));
  }

  /** A boolean condition of at most this depth. */
  condition(depth: number): unknown {
    if (depth <= 0 || this.chance(0.2)) return this.comparison(0);
    switch (this.pick(['and', 'or', '!', '!!', 'if', 'compare', 'compare', 'in', 'each', 'list', 'bool', 'between'])) {
      case 'and':
        return { and: this.some(1, 3, () => this.truthy(depth - 1)) };
      case 'or':
        return { or: this.some(1, 3, () => this.truthy(depth - 1)) };
      case '!':
        return { '!': [this.truthy(depth - 1)] };
      case '!!':
        return { '!!': [this.truthy(depth - 1)] };
      case 'if':
        return {
          [this.pick(['if', '?:'])]: [this.truthy(depth - 1), this.condition(depth - 1), this.condition(depth - 1)],
        };
      case 'in':
        return this.membership(depth - 1);
      case 'each':
        return { [this.pick(['some', 'all', 'none'])]: this.overList(depth - 1) };
      case 'list':
        return { '!!': [this.textList(depth - 1)] };
      case 'bool':
        return { [this.pick(['==', '!=', '===', '!=='])]: [this.condition(depth - 1), this.pick([true, false])] };
      case 'between':
        return { [this.pick(['<', '<='])]: [this.number(depth - 1), this.number(depth - 1), this.number(depth - 1)] };
      default:
        return this.comparison(depth - 1);
    }
  }

  /** What may stand in a boolean position: a condition, or a list. */
  private truthy(depth: number): unknown {
    return this.chance(0.15) ? this.textList(depth) : this.condition(depth);
  }

  private some<T>(from: number, to: number, make: () => T): T[] {
    return Array.from({ length: from + Math.floor(this.random() * (to - from + 1)) }, make);
  }

  private comparison(depth: number): unknown {
    switch (this.pick(['flag', 'text', 'number', 'score', 'time'])) {
      case 'flag':
        return {
          [this.equality()]: [
            { var: this.pick(['MdmData.CompromisedStatus', 'RegisteredStatus']) },
            this.pick(['TRUE', 'FALSE']),
          ],
        };
      case 'text':
        return { [this.equality()]: [this.text(depth), this.text(depth)] };
      case 'score':
        return {
          [this.order()]: [
            { var: this.pick(['TrustData.EntityTrustscore', 'TrustData.AccessTrustscore']) },
            this.pick([0, 10, 50, 100]),
          ],
        };
      case 'time':
        return { [this.order()]: [{ var: 'LastLogin' }, 0] };
      default:
        return { [this.pick([this.order(), this.equality()])]: [this.number(depth), this.number(depth)] };
    }
  }

  private equality = (): string => this.pick(['==', '!=', '===', '!==']);
  private order = (): string => this.pick(['<', '<=', '>', '>=']);

  private number(depth: number): unknown {
    const leaf = (): unknown =>
      this.chance(0.5)
        ? this.pick([-1, 0, 1, 2, 2.5, 10])
        : { var: this.pick(['LoginCount', 'TrustData.EntityTrustscore']) };
    if (depth <= 0 || this.chance(0.4)) return leaf();
    switch (this.pick(['+', '-', '*', '/', '%', 'min', 'max', 'neg', 'reduce', 'count', 'if', 'default'])) {
      case '+':
        return { '+': this.some(1, 3, () => this.number(depth - 1)) };
      case '-':
        return { '-': [this.number(depth - 1), this.number(depth - 1)] };
      case '*':
        return { '*': this.some(2, 3, () => this.number(depth - 1)) };
      case '/':
        return { '/': [this.number(depth - 1), this.pick([1, 2, 3, -4])] };
      case '%':
        return { '%': [this.number(depth - 1), this.pick([1, 2, 3, -4])] };
      case 'min':
        return { min: this.some(1, 3, () => this.number(depth - 1)) };
      case 'max':
        return { max: this.some(1, 3, () => this.number(depth - 1)) };
      case 'neg':
        return { '-': [this.number(depth - 1)] };
      case 'reduce':
        return { reduce: [this.textList(depth - 1), { '+': [{ var: 'accumulator' }, 1] }, this.pick([0, 1])] };
      case 'count':
        return { count: this.chance(0.5) ? [this.textList(depth - 1)] : this.overList(depth - 1) };
      case 'default':
        return { var: ['LoginCount', 7] };
      default:
        return { if: [this.truthy(depth - 1), this.number(depth - 1), this.number(depth - 1)] };
    }
  }

  private text(depth: number): unknown {
    const leaf = (): unknown =>
      this.chance(0.5)
        ? this.pick(['', 'a', 'ab', 'Windows'])
        : { var: this.pick(['Platform', 'Model', 'MdmData.Source']) };
    if (depth <= 0 || this.chance(0.4)) return leaf();
    switch (this.pick(['cat', 'substr', 'if', 'default', 'index'])) {
      case 'cat':
        return { cat: this.some(1, 3, () => (this.chance(0.7) ? this.text(depth - 1) : this.pick([1, 2.5]))) };
      case 'substr':
        return {
          substr: [
            this.text(depth - 1),
            this.pick([-3, -1, 0, 1, 2]),
            ...(this.chance(0.5) ? [this.pick([-2, -1, 0, 1, 2])] : []),
          ],
        };
      case 'default':
        return { var: ['Model', 'none'] };
      case 'index':
        return { var: ['Roles.0', 'nobody'] };
      default:
        return { if: [this.truthy(depth - 1), this.text(depth - 1), this.text(depth - 1)] };
    }
  }

  private textList(depth: number): unknown {
    if (depth <= 0 || this.chance(0.4))
      return this.pick([
        { var: 'Roles' },
        { var: 'Emails' },
        ['a', 'b'],
        { missing: ['Model', 'SerialNumber'] },
        { missing_some: [1, ['Model', 'Platform']] },
      ]);
    switch (this.pick(['filter', 'map', 'merge', 'if'])) {
      case 'filter':
        return { filter: [this.textList(depth - 1), this.elementCondition()] };
      case 'map':
        return { map: [this.textList(depth - 1), { cat: [{ var: '' }, 'x'] }] };
      case 'merge':
        return { merge: this.some(1, 3, () => (this.chance(0.7) ? this.textList(depth - 1) : this.text(0))) };
      default:
        return { if: [this.truthy(depth - 1), this.textList(depth - 1), this.textList(depth - 1)] };
    }
  }

  private membership(depth: number): unknown {
    if (this.chance(0.3)) return { in: [this.pick(['a', 'in', 'OS']), { var: this.pick(['Platform', 'Model']) }] };
    if (this.chance(0.3)) return { in: [this.number(depth), [0, 1, 2, 10]] };
    return { in: [this.text(depth), this.textList(depth)] };
  }

  private elementCondition(): unknown {
    return this.pick<unknown>([
      { '==': [{ var: '' }, this.pick(['a', 'b'])] },
      { in: [{ var: '' }, ['a', 'admin']] },
      { '!': [{ in: ['b', { var: '' }] }] },
      { and: [{ '!=': [{ var: '' }, 'a'] }, { '!=': [{ var: '' }, 'b'] }] },
    ]);
  }

  private overList(depth: number): unknown[] {
    if (this.chance(0.5)) return [this.textList(depth), this.elementCondition()];
    return [
      { var: 'TrustData.Factors' },
      this.pick<unknown>([
        { '==': [{ var: 'Name' }, 'a'] },
        { in: [{ var: 'Value' }, ['a', 'ab']] },
        { or: [{ '==': [{ var: 'Name' }, ''] }, { '!=': [{ var: 'Value' }, 'b'] }] },
      ]),
    ];
  }
}
