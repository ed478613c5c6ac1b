// scenarios: mistakes in settings that put a secret where none belongs. In: the world of the canaries, a way to give a command. Out: nothing; its
// messages are noted. It throws when a mistake is accepted.
import { writeFileSync } from 'node:fs';
import type { CanaryWorld } from './canary-world.ts';

export type Said = (env: Record<string, string>, ...args: string[]) => Promise<{ code: number }>;

/** Settings with secrets where none belongs: each is refused, and no message repeats it. */
export async function mistakes({ withKey, dir, secrets }: CanaryWorld, said: Said): Promise<void> {
  const secret = secrets['the password of an address'] as string;
  const webhooks = `${dir}/wrong-webhooks.json`;
  const addresses = [
    ...[
      `https://ana:${secret}@host.example`,
      `ftp://ana:${secret}@host.example`,
      `https://host.example/?key=${secret}`,
    ],
    ...[`ana:${secret}@host.example`, `https://host.example/#${secret}`, `http:/ana:${secret}@host.example/api/v1`],
  ];
  const wrong = addresses.flatMap((address): Record<string, string>[] => [
    { TRUSTWARD_API_URL: address },
    { TRUSTWARD_PUBLIC_URL: address },
    { TRUSTWARD_HEARTBEAT_URL: address, TRUSTWARD_HEARTBEAT_URL_FILE: '' },
    { TRUSTWARD_WEBHOOKS: webhooks, ADDRESS: address },
  ]);
  wrong.push({ TRUSTWARD_API_KEY: `${secret} ${secret}` }, { TRUSTWARD_API_KEY: '', TRUSTWARD_API_KEY_FILE: secret });
  wrong.push({ TRUSTWARD_TOKEN_FILE: '', TRUSTWARD_TOKEN: `${secret}!` }, { TRUSTWARD_TOKEN: secret });
  for (const more of wrong) {
    const hook = { url: more.ADDRESS ?? '', secretEnv: 'FEED_SECRET' };
    writeFileSync(webhooks, JSON.stringify({ ops: hook, feed: { ...hook, secret } }));
    const { code } = await said({ ...withKey, ...more }, 'runs', '--limit', '1');
    const checked = await said({ ...withKey, ...more }, 'doctor');
    if (code === 0 && checked.code === 0) throw new Error(`not refused: ${Object.keys(more)}`);
  }
}
