// fidelity: records a month into real segments: each process has a recorder of its own, which reads on what the one before it wrote. Some runs are not
// written, a death leaves the last one unwritten, files are damaged, somebody is forgotten. In: a seed. Out: a reader, and what the harness knows of the record.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize } from 'node:v8';
import { AppError } from '../../../src/domain/errors.ts';
import type { Clock, Log } from '../../../src/domain/ports.ts';
import type { EventRows, HistoryReader, HistoryRecorder } from '../../../src/domain/recorded-history.ts';
import type { SubjectRef } from '../../../src/domain/subjects.ts';
import { Decoder } from '../../../src/history/codec/run-encoder.ts';
import { forgetSubject } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { listHistory } from '../../../src/history/files/segment-files.ts';
import { DirectDesk } from '../../../src/history/record/desk-thread.ts';
import type { RecordingDesk, SentFrame } from '../../../src/history/record/folder-recording.ts';
import { RunRecorder } from '../../../src/history/record/run-recorder.ts';
import { Dice } from '../../harness/dice.ts';
import type { SimClock } from '../../harness/sim-clock.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import type { MonthRecording } from './month.ts';

const ADDRESS = 'http://platform.test';
const KEEP_MS = 90 * 86_400_000;
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class MonthFolder implements MonthRecording {
  readonly lost = new Set<string>();
  readonly tellsGaps = true;
  readonly forgotten = new Set<string>();
  damaged = 0;
  private readonly folder = mkdtempSync(join(tmpdir(), 'trustward-month-'));
  private readonly dice: Dice;
  private readonly lossShare: number;
  private readonly damageShare: number;
  private readonly forgetShare: number;
  private nowMs = () => 0;
  private recorder: RunRecorder | undefined;
  private life = { isOver: false };

  constructor(seed: number) {
    this.dice = new Dice(seed, 'losses of the month');
    this.lossShare = this.dice.chance(0.4) ? 0 : 0.06 * this.dice.share();
    this.damageShare = this.dice.chance(0.6) ? 0 : 0.3;
    this.forgetShare = this.dice.chance(0.6) ? 0 : 0.3;
  }

  begin(store: EventRows, clock: SimClock): HistoryRecorder {
    this.nowMs = () => clock.nowMs();
    this.life = { isOver: false };
    const desk = new DirectDesk({
      folder: this.folder,
      address: ADDRESS,
      program: 'a month',
      keepMs: KEEP_MS,
      printKey: PRINT_KEY,
    });
    this.recorder = new RunRecorder(this.failing(desk, this.life), store, unhurried(clock), silent);
    return this.recorder;
  }

  async end(isKilled: boolean): Promise<void> {
    if (isKilled) this.life.isOver = true;
    await this.recorder?.settled();
    if (this.dice.chance(this.damageShare)) this.damage();
    if (this.dice.chance(this.forgetShare)) this.forget();
  }

  reader(): HistoryReader {
    const newDecoder = (options: { factsOnly: boolean }) => new Decoder(options);
    return historyReader({ folder: this.folder, address: ADDRESS, newDecoder });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Nothing is written any more when the process has died, and a full disk takes some runs. */
  private failing(desk: RecordingDesk, life: { isOver: boolean }): RecordingDesk {
    const demandLife = () => {
      if (life.isOver) throw new AppError('store_failed', 'the process has ended');
    };
    return {
      open: () => desk.open(),
      presentPrints: (kind, form) => desk.presentPrints(kind, form),
      eventsAfter: (run) => desk.eventsAfter(run),
      events: (batch) => desk.events(batch),
      ahead: (...given) => desk.ahead(...given),
      record: async (sent) => {
        const { frame } = deserialize(sent.run) as SentFrame;
        const isLost = this.dice.chance(this.lossShare);
        if (isLost || life.isOver) this.lost.add(frame.run.id);
        demandLife();
        if (isLost) throw new AppError('store_failed', 'the disk is full');
        await desk.record(sent);
      },
      tidy: async (nowMs) => {
        demandLife();
        await desk.tidy(nowMs);
      },
      restart: () => desk.restart(),
      close: () => desk.close(),
    };
  }

  /** Of one device or user nothing is kept; what the next run sees of it is recorded again. */
  private forget(): void {
    const { dice, forgotten } = this;
    const subject = dice.pick<SubjectRef>([
      { kind: 'device', id: `d${dice.whole(0, 20)}` },
      { kind: 'user', id: `u${dice.whole(0, 5)}@main.test` },
    ]);
    const standIn = `forgotten-${forgotten.size}`;
    const { removed, replaced } = forgetSubject(this.folder, { subject, atMs: this.nowMs(), standIn });
    if (removed + replaced > 0) forgotten.add(subject.id).add(standIn);
  }

  /** A file is cut, or a bit of it is another one. */
  private damage(): void {
    const { segments } = listHistory(this.folder);
    if (segments.length === 0) return;
    const { file } = this.dice.pick(segments);
    const bytes = readFileSync(file);
    const at = this.dice.whole(0, bytes.length - 1);
    if (this.dice.chance(0.5)) bytes[at] = (bytes[at] as number) ^ 0x10;
    writeFileSync(file, this.dice.chance(0.5) ? bytes : bytes.subarray(0, at));
    this.damaged += 1;
  }
}

/** It waits for no answer less than it takes: the month's own clock would pass meanwhile. */
function unhurried(clock: SimClock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (_, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new AppError('stopped', 'stopped while waiting')));
      }),
  };
}
