// A device chooses its names. Two that it made so that a fingerprint without a key is the same for both are two names: the new one is found, and
// the history has the change. Names that share the hash of another one do not hide it.
import { afterEach, describe, expect, it } from 'vitest';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

let on: OnPlatform;
afterEach(() => on.close());

/** The arithmetic of earlier versions: cyrb53, two characters a step. */
interface State {
  a: number;
  b: number;
}
const BEGIN: State = { a: 0xdeadbeef | 0, b: 0x41c6ce57 };
const [P, Q] = [2_654_435_761, 1_597_334_677];
const step = ({ a, b }: State, units: number): State => ({ a: Math.imul(a ^ units, P), b: Math.imul(b ^ units, Q) });

function mixed(state: State, text: string): State {
  let now = state;
  for (let at = 1; at < text.length; at += 2) now = step(now, unitsOf(text.slice(at - 1)));
  now = step(now, text.length % 2 === 1 ? text.charCodeAt(text.length - 1) : 0);
  return { a: now.a ^ text.length, b: now.b ^ text.length };
}

function finished({ a, b }: State): State {
  return {
    a: Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909),
    b: Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909),
  };
}

const unitsOf = (text: string) => text.charCodeAt(0) | (text.charCodeAt(1) << 16);
const textOf = (units: number) => String.fromCharCode(units & 0xffff, units >>> 16);
const isPlain = (text: string) => /^[^\p{C}\p{Z}\p{Lu}\p{Lt}]{2}$/u.test(text) && text.normalize() === text;

/** Two texts of four characters that lead from one state to one state: half of the second pair is free, and half makes up for the first. */
function twins(from: State): [string, string] {
  const known = new Map<number, number>();
  for (let one = 0; one < 0x40000; one += 1) {
    const units = (0x4e00 + (one & 0x1ff)) | ((0x4e00 + (one >> 9)) << 16);
    const { a, b } = step(from, units);
    const other = known.get(a ^ b);
    if (other === undefined) known.set(a ^ b, units);
    else {
      const apart = a ^ step(from, other).a;
      for (let second = 0x4e00; second < 0x9000; second += 1) {
        const pair = second | ((second ^ 0x55) << 16);
        const [first, last] = [textOf(pair), textOf(pair ^ apart)];
        if (isPlain(first) && isPlain(last)) return [textOf(units) + first, textOf(other) + last];
      }
    }
  }
  throw new Error('no twins were found');
}

const NAME = 'DeviceFriendlyName';

describe('a device that takes a name of the same unkeyed fingerprint', () => {
  it('is found by it', async () => {
    on = startOnPlatform();
    const [before, after] = twins(mixed(mixed(BEGIN, 'd1'), 'S-d1'));
    on.platform.addDevice('d1', { [NAME]: before });
    await on.run();
    on.platform.patch('d1', { [NAME]: after });
    await on.run();
    const found = await on.store.identitiesNamed(after);
    expect(found.map(({ identity }) => identity.id)).toEqual(['d1']);
    expect(await on.store.identitiesNamed(before)).toEqual([]);
  });

  it('has it in the history', async () => {
    on = startOnPlatform();
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    const seed = finished(mixed(BEGIN, NAME));
    const [before, after] = twins({ a: seed.a ^ 1, b: seed.b });
    on.platform.addDevice('d1', { [NAME]: before });
    await on.run();
    on.platform.patch('d1', { [NAME]: after });
    await on.run();
    await history.settled();
    expect(history.runs.at(-1)?.changes).toMatchObject([{ subject: 'd1', path: NAME, value: after }]);
  });
});

it('a device is found by its name among many whose names share its hash', async () => {
  on = startOnPlatform();
  const name = mixed(BEGIN, 'name');
  let [state, texts] = [name, ['']];
  for (let part = 0; part < 6; part += 1) {
    const pair = twins(state);
    state = step(step(state, unitsOf(pair[0])), unitsOf(pair[0].slice(2)));
    texts = texts.flatMap((text) => pair.map((one) => text + one));
  }
  const [own = '', ...others] = texts.toReversed();
  for (const [at, other] of others.entries()) on.platform.addDevice(`a${at}`, { [NAME]: other });
  on.platform.addDevice('z', { [NAME]: own });
  await on.run('dry-run');
  expect((await on.store.identitiesNamed(own)).map(({ identity }) => identity.id)).toEqual(['z']);
});
