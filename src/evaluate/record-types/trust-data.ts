// evaluate: the parts that device and user records share (management-api.md, "TrustData" and "Factor").
// Known values are from field-notes.md, "Values".
import { TRUST_LEVELS } from '../../domain/platform-values.ts';
import { FLAG, listOf, recordOf, SCORE, TEXT, TIME_NS, textOf } from './field-types.ts';

export const FACTOR = recordOf({
  Name: TEXT,
  Value: TEXT,
  Type: TEXT,
  Source: TEXT,
  Description: TEXT,
  RemediationDescription: TEXT,
  RemediationURL: TEXT,
});

export const TRUST_DATA = recordOf({
  EntityTrustscore: SCORE,
  OverrideTrustscore: SCORE,
  AccessTrustscore: SCORE,
  OverrideActive: FLAG,
  Level: textOf(...TRUST_LEVELS),
  UpdatedAt: TIME_NS,
  Factors: listOf(FACTOR),
});
