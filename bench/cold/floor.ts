// bench: the floor of a process of its own: the same records in pages, downloaded with undici and parsed with JSON.parse, as many at a time as the
// engine reads. argv: the API's address, the number of devices.
import { Agent, request } from 'undici';

const [, , url, devices] = process.argv as [string, string, string, string];
const [CONCURRENCY, PAGE, STEP] = [4, 1_000, 999]; // pages overlap by one record
const agent = new Agent({ connections: CONCURRENCY });
let next = 0;
async function reads(): Promise<void> {
  while (next < Number(devices)) {
    const skip = next;
    next += STEP;
    const address = `${url}/api/v1/devices?Skip=${skip}&Limit=${PAGE}`;
    const { body } = await request(address, { dispatcher: agent, headers: { authorization: 'Bearer key' } });
    JSON.parse(await body.text());
  }
}
await Promise.all(Array.from({ length: CONCURRENCY }, reads));
await agent.close();
