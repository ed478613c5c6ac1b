// schedule: what is counted of each lane of the queue since the process started.
import type { LaneCounters } from '../domain/lane-counters.ts';
import { LANE_NAMES, type Lane } from '../domain/lanes.ts';

/** Counted since `since`. One plain object: `/readyz` reads it, and metrics can. */
export interface QueueCounters {
  since: number;
  lanes: Record<Lane, LaneCounters>;
}

export function newCounters(since: number): QueueCounters {
  const none = { accepted: 0, joined: 0, refused: 0, done: 0, failed: 0, waitMsMax: 0, refusal: undefined };
  const lanes = Object.fromEntries(LANE_NAMES.map((lane) => [lane, { ...none }]));
  return { since, lanes: lanes as Record<Lane, LaneCounters> };
}
