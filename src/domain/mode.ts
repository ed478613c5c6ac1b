// domain: how far something may go. The lowest of the rule's, the run's and the daemon's mode counts.
// Every comparison of modes has its name here: what may call, what waits for a person, what is only tried out.
export const MODES = ['off', 'dry-run', 'approve', 'enforce'] as const;
export type Mode = (typeof MODES)[number];

export function leastMode(...modes: Mode[]): Mode {
  return MODES[Math.min(...modes.map((mode) => MODES.indexOf(mode)))] ?? 'off';
}

/** Whether a run, a daemon or an intent of this mode may change something, by itself or with an approval. */
export function isLive(mode: Mode): boolean {
  return mode === 'approve' || mode === 'enforce';
}

/** Whether a rule of this mode is tried out (or off): it holds back no other rule. */
export function isOnTrial(mode: Mode): boolean {
  return !isLive(mode);
}

/** Nothing is done before a person approved it. */
export function waitsForPerson(mode: Mode): boolean {
  return mode === 'approve';
}

/** It acts without being asked. */
export function actsAlone(mode: Mode): boolean {
  return mode === 'enforce';
}

/** Whether an intent may be sent in this mode: an approved intent is sent in mode `approve` too. */
export function allowsCall(mode: Mode, approved: boolean): boolean {
  return approved ? isLive(mode) : actsAlone(mode);
}
