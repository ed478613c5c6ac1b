// act: the kinds of targets that several actions share. A kind that only one action uses is in that action's file.
import type { TargetTraits } from '../../domain/action.ts';

/** Every device of a serial number. */
export const SERIAL: TargetTraits = {
  of: ({ serial }) => [serial],
  identity: (target) => ['serial', target],
  serialOf: (target) => target,
};

/** A service, by its ServiceID. */
export const SERVICE: TargetTraits = {
  of: ({ id }) => [id],
  identity: (target) => ['service', target],
};
