// test: an address that is too long to go back to still leads to signing in.
import { expect, it } from 'vitest';
import { openPages } from '../support/pages.ts';

it('leads to a sign-in that works, also from an address too long to go back to', async () => {
  const { get } = openPages();
  const asked = async (query: string) => {
    const { status, headers } = await get(`/search?q=${query}`, 'none');
    expect(status).toBe(303);
    return headers.get('location') as string;
  };
  expect(await asked('ada')).toBe('/sign-in?to=%2Fsearch%3Fq%3Dada');
  const far = await asked(encodeURIComponent('…'.repeat(900)));
  expect((await get(far, 'none')).status).toBe(200);
});
