// test: the program itself, with its own deadline of 20 s, while a read of its rules never ends. Not part of the normal run.
import { expect, it } from 'vitest';
import { startEndingDaemon } from './ending.ts';

it('SIGTERM ends the program within 20 s while reading the rules never ends', async () => {
  const daemon = await startEndingDaemon();
  try {
    await daemon.hangRules();
    await daemon.holdConnections();
    const { err, tookMs } = await daemon.end();
    expect(err).toContain('ended by force 20 s after the signal; not ended: a thread of the process');
    expect(tookMs).toBeLessThan(22_000);
  } finally {
    await daemon.close();
  }
}, 60_000);
