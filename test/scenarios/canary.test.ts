// scenario: a secret, wherever it is kept, comes out nowhere: one life of a daemon with another secret in each place, and a search of everything
// that anybody could read of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Life, liveThrough } from './canary-life.ts';
import { type CanaryWorld, startCanaryWorld } from './canary-world.ts';

let world: CanaryWorld;
let life: Life;

beforeAll(async () => {
  world = await startCanaryWorld();
  life = await liveThrough(world);
}, 180_000);
afterAll(() => world?.close());

describe('a life in which every secret could have come out', () => {
  it('was a full one', () => {
    const { echoes, pages, deliveries, issued, runs } = life.counts;
    expect(echoes).toBeGreaterThan(0);
    expect(pages).toBeGreaterThan(30);
    expect(deliveries).toBeGreaterThan(8);
    expect(issued).toBeGreaterThan(1);
    expect(runs).toBeGreaterThan(7);
  });

  it('has none of them in any place', () => {
    const found = [...life.places].flatMap(([place, text]) =>
      world.canaries.in(text).map((name) => `${name}: ${place}`),
    );
    expect(found).toEqual([]);
  });
});
