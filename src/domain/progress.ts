// domain: the port by which a run shows how far it is. Nothing rests on it: a run without one is the same run.

export interface ProgressStep {
  phase: 'reading' | 'deciding' | 'recording' | 'acting' | 'settling doubts' | 'sealing the audit' | 'waiting';
  /** A source while reading, an action and its target while acting. From devices, and hostile. */
  what?: string;
  done?: number;
  /** As expected; undefined while nobody knows. */
  total?: number | undefined;
}

/** Called often: it returns at once and never throws. */
export type Progress = (step: ProgressStep) => void;

/** A step, and the run, the applied plan or the tried rule whose step it is. */
export interface WorkProgress extends ProgressStep {
  run?: string | undefined;
  plan?: string | undefined;
  trial?: string | undefined;
}
