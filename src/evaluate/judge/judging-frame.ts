// evaluate: the frame that a program's conditions work on, connected to the event windows and the joins of one run.
// In: a program, the windows, a run's context. Out: a frame whose late facts can be read.

import type { LookBack } from '../../domain/look-back.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { JudgeContext } from '../../domain/verdict.ts';
import { newFrame } from '../compile/new-frame.ts';
import type { Program } from '../compile/program.ts';
import type { SubjectKeys } from '../events/tracks.ts';
import type { EventWindow, WindowView } from '../events/window.ts';
import { keysOf, type Windows } from '../events/windows.ts';
import { virtualReader } from '../facts/virtual-facts.ts';
import type { Frame } from '../language/frame.ts';
import { ownPart } from '../language/typed-value.ts';
import { lookBackReader } from '../look-back/reader.ts';
import { LookBackTracks } from '../look-back/tracks.ts';

export type FactsContext = Pick<JudgeContext, 'nowMs' | 'windowsAtMs' | 'joins' | 'coverage' | 'unavailable'> &
  WithPast;

/** Absent: the past of fields is not known. */
export interface WithPast {
  lookBack?: LookBack | undefined;
}

/** Every window must exist before the first event is observed. */
export function registerWindows(program: Program, windows: Windows): void {
  for (const { fact } of program.slots) if (fact.kind === 'events') windows.register(fact.key, fact.count);
}

/** Every track must exist before the history is observed. */
export function registerTracks(kind: SubjectKind, program: Program, tracks: LookBackTracks): void {
  for (const { fact } of program.slots) if (fact.kind === 'look_back') tracks.register(kind, fact.past);
}

export function frameFor(kind: SubjectKind, program: Program, windows: Windows, context: FactsContext): Frame {
  windows.advance(context.windowsAtMs ?? context.nowMs);
  const readers = program.slots.map(({ fact }): { window: EventWindow; view: WindowView } | undefined =>
    fact.kind === 'events'
      ? { window: windows.register(fact.key, fact.count), view: windows.view(fact.count.withinMs, context.coverage) }
      : undefined,
  );
  const noEvents = context.unavailable.has('events');
  const tracks = context.lookBack instanceof LookBackTracks ? context.lookBack : undefined;
  const lookBacks = program.slots.map(({ fact }) =>
    fact.kind === 'look_back' ? lookBackReader(kind, fact.past, fact.label, tracks, program.reasons) : undefined,
  );
  let keysTurn = -1;
  let keys: SubjectKeys = { first: undefined, second: undefined };
  const readPast: Frame['readPast'] = (slot, frame) => {
    const lookBack = lookBacks[slot];
    if (lookBack) return lookBack.value(frame);
    const reader = readers[slot];
    if (!reader || noEvents) return (program.slots[slot] as Program['slots'][number]).reasons.unavailable;
    if (keysTurn !== frame.turn) {
      keys = subjectKeys(kind, frame);
      keysTurn = frame.turn;
    }
    return windows.read(reader.window, keys, reader.view);
  };
  const showPast: Frame['showPast'] = (slot, frame) => lookBacks[slot]?.past(frame);
  const readVirtual = virtualReader(context, program.reasons);
  return newFrame(program.size, context.nowMs, { readVirtual, readPast, showPast });
}

function subjectKeys(kind: SubjectKind, frame: Frame): SubjectKeys {
  const text = (field: string): string | undefined => {
    const value = ownPart(frame.record, field);
    return typeof value === 'string' ? value : undefined;
  };
  if (kind === 'device') return keysOf(kind, text('DeviceID'), text('SerialNumber'));
  if (kind === 'user') return keysOf(kind, text('Email'), undefined);
  return keysOf(kind, text('ServiceID'), text('ServiceName'));
}
