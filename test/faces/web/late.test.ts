// What a form answers when what it asks for takes long, as with PostgreSQL when no worker runs: soon, and truthfully.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';

const NO_TIME = { nowMs: () => START_MS, monotonicMs: () => 0, sleep: async () => {} };

describe('a run that nobody begins', () => {
  it('is answered before a browser gives up, and its failure is logged when it comes', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const pages = openPages({ clock: NO_TIME, trigger: () => promise });
    const { status, text } = await pages.post('/runs', { mode: 'dry-run' });
    expect(status).toBe(503);
    expect(text).toContain('There is no answer yet it was asked for, and is done in its turn');
    reject(new AppError('busy', 'no worker has begun the run'));
    const message = expect.stringContaining('no worker has begun the run');
    await expect.poll(() => pages.complaints).toMatchObject([{ message }]);
  });

  it('is refused at once when it is refused, whatever time there is', async () => {
    const pages = openPages({ trigger: () => Promise.reject(new AppError('busy', 'too many wait')) });
    const { status, text } = await pages.post('/runs', { mode: 'dry-run' });
    expect([status, text.includes('too many wait')]).toEqual([429, true]);
  });
});

it('an endpoint beside workers names the tokens that it does not list', async () => {
  const beside = await openPages({ isDaemon: false }).get('/tokens');
  expect(beside.text).toContain(
    'tokens of all organizations ( trustward tokens list --all-organizations ), open this one, too',
  );
  expect(beside.text).not.toContain('The token of the configuration, admin , is not listed');
});
