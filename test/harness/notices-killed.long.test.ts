// harness: the real daemon with a real mail server, killed (kill -9) at random moments over the sending and the deadline: nobody is acted on before
// their message was accepted and the whole time has passed, none is told twice, and nobody is forgotten. KILLS and KILL_SEED choose others.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteDatabase } from '../../src/domain/database.ts';
import { composeReader } from '../../src/runtime/compose/reader.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';
import { Dice } from './dice.ts';
import { killed, start } from './kill-life.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.KILL_SEED ?? 1);
const BEFORE_MS = 300_000;
const RULE = BAN_COMPROMISED.replace(
  'revert: true',
  'revert: true\nowners: all\nlimits: { max: 1000, percent: 100 }\nnotice: { before: 5m, remind: [1m] }\nfix: { text: Mend it }',
);

interface Accepted {
  id: string;
  to: string;
  atMs: number;
}

/** It answers late, and sometimes not at all after it has taken a message. */
async function startPost(dice: Dice, accepted: Accepted[]): Promise<number> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onConnect: (_, done) => (dice.chance(0.15) ? done(new Error('421 not now')) : done()),
    onData: (stream, session, done) => {
      let raw = '';
      stream.on('data', (chunk: Buffer) => {
        raw += chunk.toString();
      });
      stream.on('end', () => {
        const id = /^Message-ID: *(.*)$/im.exec(raw)?.[1] ?? '';
        for (const { address } of session.envelope.rcptTo) accepted.push({ id, to: address, atMs: Date.now() });
        setTimeout(done, dice.whole(0, 400));
      });
    },
  });
  server.on('error', () => {}); // a client that was killed
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.server.address() as AddressInfo).port;
}

it('nobody is acted on before the deadline and the delivery, told twice or forgotten', {
  timeout: 3_600_000,
}, async () => {
  const dice = new Dice(SEED, 'kills of notices');
  const accepted: Accepted[] = [];
  const port = await startPost(new Dice(SEED, 'post'), accepted);
  const org = await startOrganization({
    devices: 400,
    rules: { ban: RULE },
    env: {
      TRUSTWARD_SCHEDULE: '*/2 * * * * *',
      TRUSTWARD_WATCH: '0s',
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_TOKEN: 'a-token-for-nobody-long-enough',
      TRUSTWARD_QUIET_PERIOD: '1500ms',
      TRUSTWARD_CEILING_RUN: '10000,100%',
      TRUSTWARD_CEILING_DAY: '100000,100%',
      TRUSTWARD_SMTP_URL: `smtp://127.0.0.1:${port}`,
      TRUSTWARD_SMTP_TLS: 'off',
      TRUSTWARD_SMTP_FROM: 'trustward@example.com',
    },
  });
  await org.composition.close(); // the engine lives in processes of its own
  onTestFinished(() => org.console.close());
  const owners = new Map<string, string>();
  let kills = 0;
  for (; kills < KILLS; kills += 1) {
    for (let more = owners.size < 50 ? dice.whole(0, 2) : 0; more > 0; more -= 1) {
      const serial = `WARN-${owners.size}`;
      org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }, [`owner-${owners.size}@acme.example`]);
      owners.set(serial, `owner-${owners.size}@acme.example`);
    }
    const child = start(org);
    await systemClock.sleep(dice.pick([900, 1_500, 2_500, 4_000]) + dice.whole(0, 900));
    await killed(child);
  }
  const last = start(org);
  const open = () => [...owners].filter(([serial]) => !bansOf(org, serial).length);
  for (let look = 0; look < 500 && !(await isOver(org)); look += 1) await systemClock.sleep(1_000);
  last.kill('SIGTERM');
  await once(last, 'exit');

  const ids = accepted.map(({ id }) => id);
  const early = [...owners].flatMap(([serial, owner]) =>
    bansOf(org, serial).filter((atMs) => !accepted.some((one) => one.to === owner && one.atMs + BEFORE_MS <= atMs + 1)),
  );
  const undelivered = await heldSerials(org);
  const forgotten = open().filter(([serial]) => !undelivered.has(serial));
  const bans = [...owners.keys()].reduce((sum, serial) => sum + bansOf(org, serial).length, 0);
  process.stdout.write(
    `${kills} kills, ${accepted.length} messages, ${bans} bans, ${undelivered.size} held since undelivered; ${early.length} early, ${ids.length - new Set(ids).size} doubled, ${forgotten.length} forgotten\n`,
  );
  expect({ early, doubled: ids.filter((id, at) => ids.indexOf(id) !== at), forgotten }).toEqual({
    early: [],
    doubled: [],
    forgotten: [],
  });
  expect(bans).toBeGreaterThan(0);
});

function bansOf({ console }: Organization, serial: string): number[] {
  const isOf = (address: string) => /serialnumber=([^&]+)/i.exec(address)?.[1] === serial;
  return console
    .writes()
    .flatMap(({ address, body, atMs }) => (isOf(address) && body.includes('"TRUE"') ? [atMs] : []));
}

async function heldSerials({ dbFile }: Organization): Promise<Set<string>> {
  const reader = await composeReader(sqliteDatabase(dbFile));
  try {
    const held = (await reader.decisions({ limit: 10_000, decision: 'hold' })).filter(
      ({ endedSeq }) => endedSeq === undefined,
    );
    return new Set(held.flatMap(({ reason, target }) => (reason === 'notice_undelivered' ? [target] : [])));
  } finally {
    await reader.close();
  }
}

/** Nobody is to be warned, and no deadline is ahead. */
async function isOver({ dbFile }: Organization): Promise<boolean> {
  const reader = await composeReader(sqliteDatabase(dbFile));
  try {
    const { rows } = await reader.notices({}, 10_000);
    const run = await reader.latestRun();
    const latest = Math.max(0, ...rows.map(({ dueAt = 0, status }) => (status === 'delivered' ? dueAt : 0)));
    const isOpen = rows.some(({ status, aheadMs }) => aheadMs === 0 && (status === 'waiting' || status === 'sending'));
    return !isOpen && run?.status === 'completed' && run.startedAt > latest + 6_000;
  } finally {
    await reader.close();
  }
}
