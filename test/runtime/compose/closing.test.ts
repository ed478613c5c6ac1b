// test: compose: what was opened is closed in reverse order, once, and one that cannot be closed keeps nothing else open.
import { expect, it } from 'vitest';
import { Closing } from '../../../src/runtime/compose/opened.ts';

it('what was opened is closed in reverse order, once, also after one that could not be closed', async () => {
  const closing = new Closing();
  const closed: string[] = [];
  for (const name of ['lock', 'database', 'server'])
    closing.add(async () => {
      closed.push(name);
      if (name === 'database') throw new Error('the disk is full');
    });
  await expect(closing.close()).rejects.toThrow('the disk is full');
  expect(closed).toEqual(['server', 'database', 'lock']);
  await closing.close();
  expect(closed).toHaveLength(3);
});
