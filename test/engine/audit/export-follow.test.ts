// test: an export that goes on while a database grows: what it writes verifies as any other export, in one piece or resumed.
import { copyFileSync, renameSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EVENT_SCHEMAS } from '../../../src/domain/live-event.ts';
import { archiveAudit, archiveFolderOf, verifyExport } from '../../../src/engine/audit/archive.ts';
import { publicKeyFileOf, readPublicKeys } from '../../../src/engine/audit/signing-key.ts';
import { buildProgram } from '../../../src/faces/cli/program.ts';
import { cloudEventFaults, ocsfFaults } from '../../support/ocsf.ts';
import { startTrustward } from '../../support/trustward.ts';
import { append, ChainFolder, noteOf, type OpenChain } from './checkpoint-chain.ts';

let folder: ChainFolder;
let chain: OpenChain;
beforeEach(async () => {
  folder = new ChainFolder();
  await folder.fill(30, 10);
  chain = await folder.open();
});
afterEach(async () => {
  await chain.close();
  folder.remove();
});

const keys = () => readPublicKeys(publicKeyFileOf(folder.file));

function verify(lines: readonly string[]) {
  async function* each() {
    yield* lines;
  }
  return verifyExport(each(), keys());
}

/** The command in this process, with its lines as they come. */
function follow(...args: string[]) {
  const lines: string[] = [];
  const waiting: { done(): boolean; go(): void }[] = [];
  let end = () => {};
  const stopped = new Promise<void>((resolve) => {
    end = resolve;
  });
  const out = (text: string) => {
    expect(text.endsWith('\n')).toBe(true);
    lines.push(...text.trimEnd().split('\n'));
    for (const one of waiting) if (one.done()) one.go();
  };
  const io = { env: {}, out, err: () => {}, untilStopped: () => stopped };
  const ended = buildProgram(io)(['audit', 'export', '--db', folder.file, '--follow', ...args]);
  ended.catch(() => {}); // looked at where it is expected
  const until = (isSo: (text: string) => boolean) =>
    new Promise<void>((go) => {
      const done = () => lines.some(isSo);
      if (done()) go();
      waiting.push({ done, go });
    });
  return { lines, end, ended, until };
}

const has = (seq: number) => (line: string) => line.includes(`"type":"entry","seq":${seq},`);
const sealed = (size: number) => (line: string) => {
  const read = JSON.parse(line) as { type?: string; size?: number };
  return read.type === 'checkpoint' && read.size === size;
};

describe('audit export --follow', () => {
  it('writes what there is, then what comes, and what it wrote until it was stopped verifies', async () => {
    const followed = follow();
    await followed.until(has(30));
    await append(chain, 10, 5);
    await followed.until(sealed(40));
    followed.end();
    expect(await followed.ended).toBe(0);
    expect(JSON.parse(followed.lines.at(-1) ?? '')).toMatchObject({ type: 'end', entries: 40 });
    expect(await verify(followed.lines)).toMatchObject({ ok: true, first: 1, entries: 40, sealed: 40 });
  });

  it('goes on after an entry, as an export of its own', async () => {
    const followed = follow('--after', '25');
    await followed.until(has(30));
    followed.end();
    await followed.ended;
    expect(JSON.parse(followed.lines[0] ?? '')).toMatchObject({ format: 'trustward-audit', from: 26 });
    expect(await verify(followed.lines)).toMatchObject({ ok: true, first: 26, entries: 5 });

    const atEnd = follow('--after', '30');
    await atEnd.until((line) => line.includes('"from":31'));
    await append(chain, 1, 1);
    await atEnd.until(sealed(31));
    atEnd.end();
    await atEnd.ended;
    expect(await verify(atEnd.lines)).toMatchObject({ ok: true, first: 31, entries: 1 });
  });

  it('takes a checkpoint that comes after later entries', async () => {
    const followed = follow('--from', '21');
    await followed.until(has(30));
    await chain.store.appendAudit([noteOf(31)]);
    await followed.until(has(31));
    await chain.checkpointer.seal();
    await chain.store.appendAudit([noteOf(32)]);
    await followed.until(has(32));
    followed.end();
    await followed.ended;
    const place = followed.lines.findIndex(sealed(31));
    expect(place).toBeGreaterThan(0);
    // As if it had been written two lines later.
    const late = [...followed.lines.toSpliced(place, 1)];
    late.splice(late.length - 1, 0, followed.lines[place] as string);
    expect(await verify(late)).toMatchObject({ ok: true, entries: 12, sealed: 31 });
  });

  it('has bodies as JSON with exact integers, beside the bytes, and a body that differs from them is found', async () => {
    const followed = follow();
    await followed.until(has(30));
    followed.end();
    await followed.ended;
    const place = followed.lines.findIndex(has(7));
    const line = JSON.parse(followed.lines[place] ?? '');
    expect(line).toMatchObject({
      kind: 'intent.planned',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      body: { target: 'SN-7', at: '1750000000000000001' },
    });
    expect(JSON.parse(line.bytes).body).toEqual(line.body);
    for (const change of [
      { body: { ...line.body, target: 'SN-8' } },
      { kind: 'notice' },
      { at: '2020-01-01T00:00:00.000Z' },
    ]) {
      const edited = followed.lines.with(place, JSON.stringify({ ...line, ...change }));
      expect(await verify(edited)).toMatchObject({
        ok: false,
        bad: { seq: 7, reason: 'what stands beside its bytes is not what they say' },
      });
    }
    const { at: _at, kind: _kind, body: _body, ...bare } = line;
    expect(await verify(followed.lines.with(place, JSON.stringify(bare)))).toMatchObject({ ok: true });
  });

  it('names what is not there: beyond the end, archived, or another database', async () => {
    await expect(follow('--after', '31').ended).rejects.toThrow(
      /entry 31 is not there, the audit ends with entry 30: this is another database/,
    );
    await expect(follow('--after', 'x').ended).rejects.toThrow(/expected the number of an entry/);
    const why = { by: 'ana', reason: 'old' };
    const parts = { store: chain.store, keys: keys(), folder: archiveFolderOf(folder.file) };
    await archiveAudit(parts, { beforeSeq: 25 }, why);
    await expect(follow('--after', '12').ended).rejects.toThrow(/entry 12 is not in the database any more: .*archive/);
    const first = follow();
    await first.until(has(21));
    copyFileSync(folder.file, `${folder.file}.other`);
    renameSync(`${folder.file}.other`, folder.file);
    await expect(first.ended).rejects.toThrow(/was deleted or replaced/);
  });

  it('ends with its end line on SIGTERM, and quietly when its reader is gone', async () => {
    const args = ['audit', 'export', '--follow', '--db', folder.file];
    const asked = startTrustward(args, {});
    await asked.says('"seq":30');
    asked.child.kill('SIGTERM');
    const { code, out } = await asked.ended;
    expect(code).toBe(0);
    expect(await verify(out.trimEnd().split('\n'))).toMatchObject({ ok: true, entries: 30 });

    const left = startTrustward(args, {});
    await left.says('"seq":30');
    left.child.stdout?.destroy();
    await append(chain, 1, 1);
    expect(await left.ended).toMatchObject({ code: 0, err: '' });
  });
});

describe('audit export --format', () => {
  const asked = { kind: 'stop.set', body: { by: 'ana (page)', reason: 'look' } } as const;

  it.each(EVENT_SCHEMAS)('writes each event of %s on a line, whole and as it grows', async (schema) => {
    await chain.store.appendAudit([asked]);
    const followed = follow('--format', schema);
    await followed.until((line) => line.includes('stop.set'));
    await append(chain, 1, 1);
    await chain.store.appendAudit([{ ...asked, kind: 'stop.lifted' }]);
    await followed.until((line) => line.includes('stop.lifted'));
    followed.end();
    expect(await followed.ended).toBe(0);
    const events = followed.lines.map((line) => JSON.parse(line));
    expect(events.length).toBe(schema === 'cloudevents' ? 33 : 2);
    for (const event of events) {
      if (schema !== 'ocsf') expect(cloudEventFaults(event)).toEqual([]);
      if (schema !== 'cloudevents') expect(ocsfFaults(event.data ?? event)).toEqual([]);
    }
    const out: string[] = [];
    const err: string[] = [];
    const io = { env: {}, out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) };
    const run = buildProgram({ ...io, untilStopped: async () => {} });
    expect(await run(['audit', 'export', '--db', folder.file, '--format', schema])).toBe(0);
    expect(out.join('').trimEnd().split('\n')).toEqual(followed.lines);
    expect(err.join('')).toContain('`audit verify` cannot verify them');
    await expect(verify(followed.lines)).rejects.toThrow('events of OCSF and CloudEvents cannot be verified');
    await expect(run(['audit', 'export', '--db', folder.file, '--format', 'cef'])).rejects.toThrow(
      '--format is `cef`: expected ndjson, ocsf, cloudevents, cloudevents-ocsf',
    );
  });
});

it('an export of an earlier version, with bytes alone, still verifies', async () => {
  const { exportAudit } = await import('../../../src/engine/audit/archive.ts');
  const checkpointLines = (await chain.store.checkpointLines()) ?? [];
  const lines: string[] = [];
  for await (const piece of exportAudit({ address: undefined, entries: chain.store.auditFrom(1), checkpointLines }))
    lines.push(...piece.trimEnd().split('\n'));
  expect(lines[1]).not.toContain('"body":');
  expect(await verify(lines)).toMatchObject({ ok: true, entries: 30, sealed: 30 });
});
