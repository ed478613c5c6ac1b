// act: several intents at once, in the order of their list. In: intents, the work on one of them. Out: the work is done on each. Two that
// touch the same target, serial number or owner never go at once: the later one waits, and others pass it.
import type { ActContext } from './context.ts';
import { type Touching, touchedBy } from './touched.ts';

interface Waiting<Item> {
  item: Item;
  touches: ReadonlySet<string>;
}

/**
 * `done`: how many are over by then. Errors: the first error of the work. After it nothing new begins: what has not been sent is left as it is, and what is under way is
 * settled before this throws.
 */
export async function sideBySide<Item extends Touching>(
  context: Pick<ActContext, 'actions' | 'door' | 'settings'>,
  items: readonly Item[],
  work: (item: Item, done: number) => Promise<void>,
): Promise<void> {
  const waiting = items.map((item) => ({ item, touches: touchedBy(item, context.actions) }));
  const underWay = new Set<Promise<void>>();
  const touched = new Set<string>();
  const faults: unknown[] = [];
  let done = 0;

  const begin = ({ item, touches }: Waiting<Item>): void => {
    for (const name of touches) touched.add(name);
    const one = work(item, done)
      .catch((error) => {
        faults.push(error);
        context.door.close();
      })
      .finally(() => {
        done += 1;
        underWay.delete(one);
        for (const name of touches) touched.delete(name);
      });
    underWay.add(one);
  };

  while (waiting.length > 0 && faults.length === 0) {
    const next = underWay.size < context.settings.concurrency ? takeFirstFree(waiting, touched) : undefined;
    if (next) begin(next);
    else await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (faults.length > 0) throw faults[0];
}

/** INVARIANT: of two that touch the same, the earlier one goes first. */
function takeFirstFree<Item>(waiting: Waiting<Item>[], touched: ReadonlySet<string>): Waiting<Item> | undefined {
  const taken = new Set(touched);
  const free = waiting.findIndex(({ touches }) => {
    const isFree = [...touches].every((name) => !taken.has(name));
    if (!isFree) for (const name of touches) taken.add(name);
    return isFree;
  });
  return free < 0 ? undefined : waiting.splice(free, 1)[0];
}
