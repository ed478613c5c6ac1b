// Configuration: what a rule's mode is earned by. In: the reader of names and values. Out: thresholds, or a fault for each that is wrong.
import { DAY_MS } from '../../base/time.ts';
import { EVIDENCE_THRESHOLDS, type EvidenceThresholds } from '../../domain/evidence.ts';
import { isSource, SOURCES, type Source } from '../../domain/subjects.ts';
import type { Environment } from './name-reader.ts';
import { ConfigReader } from './reader.ts';

const NAME = 'TRUSTWARD_EVIDENCE';

/** Each figure, with the most that it can be. */
const FIGURES = {
  'approve-days': 3_650,
  'enforce-days': 3_650,
  coverage: 100,
  survivors: 1_000,
  flaps: 1_000_000,
  unknown: 100,
} as const;
type Figure = keyof typeof FIGURES;

/** For a command that reads nothing else of the configuration. Errors: AppError `config`. */
export function evidenceThresholdsOf(env: Environment): EvidenceThresholds {
  const reader = new ConfigReader(env);
  const thresholds = readEvidence(reader);
  reader.finish();
  return thresholds;
}

/** `enforce-days=30, unknown=2`: what is not named keeps its default. */
export function readEvidence(reader: ConfigReader): EvidenceThresholds {
  const { daysMin, coveredPercentMin, survivorsMax, flapsMax, unknownPercentMax } = EVIDENCE_THRESHOLDS;
  const figures: Record<Figure, number> = {
    'approve-days': daysMin.approve,
    'enforce-days': daysMin.enforce,
    coverage: coveredPercentMin,
    survivors: survivorsMax,
    flaps: flapsMax,
    unknown: unknownPercentMax,
  };
  for (const part of (reader.text(NAME) ?? '').split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [, name = '', text = ''] = /^([a-z-]+)\s*=\s*(\d{1,9})\s*%?$/.exec(part) ?? [];
    const value = Number(text);
    if (!isFigure(name))
      reader.fault(NAME, `${NAME} has \`${part}\`: expected ${Object.keys(FIGURES).join(', ')}, each as name=number`);
    else if (value > FIGURES[name])
      reader.fault(NAME, `${NAME} has \`${part}\`: expected a whole number of at most ${FIGURES[name]}`);
    else figures[name] = value;
  }
  if (figures['enforce-days'] < figures['approve-days'])
    reader.fault(
      NAME,
      `${NAME}: enforce-days is less than approve-days: mode enforce would be earned before mode approve`,
    );
  return {
    daysMin: { approve: figures['approve-days'], enforce: figures['enforce-days'] },
    coveredPercentMin: figures.coverage,
    survivorsMax: figures.survivors,
    flapsMax: figures.flaps,
    unknownPercentMax: figures.unknown,
  };
}

function isFigure(name: string): name is Figure {
  return Object.hasOwn(FIGURES, name);
}

// Configuration: the history of what runs saw.

export interface HistorySettings {
  /** How long the history is kept, ms; 0: nothing is recorded. */
  historyMs: number;
  /** Lists, and the event log, that runs read for the history alone. */
  recordedLists: ReadonlySet<Source>;
}

export function readHistory(reader: ConfigReader): HistorySettings {
  const historyMs = reader.duration('TRUSTWARD_HISTORY', '30d', '0d');
  if (historyMs > 0 && historyMs < DAY_MS)
    reader.fault(
      'TRUSTWARD_HISTORY',
      'TRUSTWARD_HISTORY is shorter than 1d: expected a duration such as 30d, or 0d for no history',
    );
  const named = (reader.text('TRUSTWARD_RECORD') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  for (const name of named)
    if (!isSource(name))
      reader.fault('TRUSTWARD_RECORD', `TRUSTWARD_RECORD names \`${name}\`: expected some of ${SOURCES.join(', ')}`);
  if (named.length > 0 && historyMs === 0)
    reader.fault(
      'TRUSTWARD_RECORD',
      'TRUSTWARD_RECORD is set, and TRUSTWARD_HISTORY is 0d, so nothing is recorded: unset one of them',
    );
  return { historyMs, recordedLists: new Set(named.filter(isSource)) };
}
