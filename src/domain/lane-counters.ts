// domain: what is counted of one lane of the run queue since the process started.
export interface LaneCounters {
  /** Requests that got a place, or joined equal work that waited. */
  accepted: number;
  joined: number;
  refused: number;
  done: number;
  failed: number;
  waitMsMax: number;
  /** Of the last request; undefined when that was accepted. */
  refusal: { at: number; reason: string } | undefined;
}
