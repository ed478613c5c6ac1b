// The library entry: everything that a script needs for the Management API, and nothing of the engine.
import { expect, test } from 'vitest';
import * as library from '../../src/index.ts';
import { json, listen } from './loopback.ts';

test('a script reads a page with what the library gives it', async () => {
  const server = await listen((_, response) => json(response, '{"devices":[{"DeviceID":"d"}],"count":1}'));
  const client = new library.ManagementClient({
    address: server.address,
    credential: { kind: 'none' },
    clock: library.systemClock,
    random: library.systemRandom,
  });
  expect(await client.listDevices({ Skip: 0, Limit: 1 })).toEqual({ devices: [{ DeviceID: 'd' }], count: 1 });
  expect(server.seen[0]?.headers.authorization).toBeUndefined();
  await client.close();
  await server.close();
});
