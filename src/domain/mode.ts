// domain: how far something may go. The lowest of the rule's, the run's and the daemon's mode counts.
export const MODES = ['off', 'dry-run', 'approve', 'enforce'] as const;
export type Mode = (typeof MODES)[number];

export function leastMode(...modes: Mode[]): Mode {
  return MODES[Math.min(...modes.map((mode) => MODES.indexOf(mode)))] ?? 'off';
}

export function isAtLeast(mode: Mode, floor: Mode): boolean {
  return MODES.indexOf(mode) >= MODES.indexOf(floor);
}
