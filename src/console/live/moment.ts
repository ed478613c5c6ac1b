// console live: what every part of life receives at each step.
import type { Choices } from '../seed/random.ts';
import type { Actor, ConsoleStore } from '../store/store.ts';

export interface Life {
  store: ConsoleStore;
  choices: Choices;
  /** The actor of events that nobody triggers. */
  actor: Actor;
  nowMs: number;
}
