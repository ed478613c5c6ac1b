// report: short marks of a state: mode, decision, outcome, verdict. In: a word of the product. Out: the word, coloured; the colour never
// says anything that the word does not.

export type Tone = 'good' | 'bad' | 'wait' | 'calm';

const TONES: Record<string, Tone> = {
  enforce: 'good',
  approve: 'wait',
  'dry-run': 'calm',
  off: 'calm',
  act: 'bad',
  hold: 'wait',
  skip: 'calm',
  succeeded: 'good',
  confirmed: 'good',
  done: 'good',
  failed: 'bad',
  parked: 'bad',
  unknown: 'wait',
  pending: 'wait',
  approved: 'wait',
  applying: 'wait',
  applied: 'good',
  interrupted: 'bad',
  rejected: 'calm',
  superseded: 'calm',
  expired: 'calm',
  completed: 'good',
  aborted: 'bad',
  running: 'wait',
  match: 'bad',
  no_match: 'good',
  error: 'bad',
  critical: 'bad',
  high: 'bad',
  medium: 'wait',
};

/** `text`: what is shown, when it is more than the word. */
export function Mark({ word, text, tone }: { word: string; text?: string; tone?: Tone }) {
  return <span class={`mark ${tone ?? TONES[word] ?? 'calm'}`}>{text ?? word}</span>;
}
