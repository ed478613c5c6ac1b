// history codec: the frame of a run as data without maps and sets, in parts that compress well beside those of other runs. In: a frame. Out: its
// parts, and a frame of them. Settings, bundles and the paths that forms show are standing rows and not among them.
import { formOf, type RecordedPart, type RunFrame } from '../../domain/recorded-history.ts';
import type { OwnRead } from '../../domain/snapshot.ts';
import { SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import type { OpenKeys } from './open-state-rows.ts';

/** `path` of a row of kind `run`, each with the JSON of its part. */
export interface FrameParts {
  run: RunFrame['run'];
  frame: Pick<
    RunFrame,
    | 'steady'
    | 'quietMs'
    | 'freeze'
    | 'activeRules'
    | 'judged'
    | 'unjudged'
    | 'coverage'
    | 'unavailable'
    | 'eventsTo'
    | 'silentSince'
    | 'namedActs'
  > & {
    /** Ids of bundles; undefined: nothing asked for them. */
    bundles: readonly string[] | undefined;
    ownReads?: readonly (readonly [string, OwnRead])[] | undefined;
  };
  sources: RunFrame['sources'];
  decidedOn?: RunFrame['decidedOn'];
  part?: (Omit<RecordedPart, 'attempts'> & { attempts: readonly (readonly [string, number])[] }) | undefined;
  /** Kinds of which it read something. */
  read: readonly SubjectKind[];
  /** By kind: paths that a reading showed which was not trusted, so that they are not standing ones. */
  shows?: readonly (readonly [SubjectKind, readonly string[]])[] | undefined;
  open?: OpenKeys | undefined;
}

export const FRAME_PARTS: readonly (keyof FrameParts)[] = [
  'run',
  'frame',
  'sources',
  'decidedOn',
  'part',
  'read',
  'shows',
  'open',
];

export function framePartsOf(frame: RunFrame): FrameParts {
  const { run, steady, quietMs, freeze, activeRules, judged, unjudged, coverage, unavailable, eventsTo } = frame;
  const { sources, decidedOn, bundles, ownReads, namedActs, part, silentSince } = frame;
  return {
    run,
    frame: {
      ...{ steady, quietMs, freeze, activeRules, judged, unjudged, coverage, unavailable, eventsTo, silentSince },
      bundles: bundles && [...bundles.keys()],
      ownReads: ownReads && [...ownReads],
      namedActs,
    },
    sources,
    decidedOn,
    part: part && { ...part, attempts: [...part.attempts] },
    read: [...frame.shows.keys()],
  };
}

/** `device paged v2`: the subject of the rows of what a form shows. */
export function formSubject(kind: SubjectKind, sources: RunFrame['sources']): string {
  return `${kind} ${formOf(sources[SOURCE_OF[kind]])}`;
}

/** What the parts do not have, from the standing rows. */
export type BesideParts = Pick<RunFrame, 'settings' | 'bundles' | 'shows'>;

export function frameOf({ run, frame, sources, decidedOn, part }: FrameParts, beside: BesideParts): RunFrame {
  return {
    run,
    ...frame,
    ...beside,
    ownReads: frame.ownReads && new Map(frame.ownReads),
    sources,
    decidedOn,
    part: part && { ...part, attempts: new Map(part.attempts) },
  };
}
