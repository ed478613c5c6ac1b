// check: undoing asks for better evidence than acting did. In: the report that no longer matches, where it is not newer than what the episode
// has seen, or is of the future: one flag that flips back, or an old or invented report, frees nobody.
import { type Check, skip } from '../../domain/check.ts';
import { timeText } from '../../domain/time-text.ts';

export const olderReport: Check = {
  when: 'the report that clears it is not newer than the one that it was done for, or is of the future',
  ask({ traits, undo, basis }) {
    const older = undo ? basis.find((one) => one.older)?.older : undefined;
    if (!older) return undefined;
    const { path, ofMs, than, thanMs } = older;
    const of = ofMs === null ? `${path} has no time` : `${path} ${timeText(ofMs)}`;
    if (than === 'now')
      return skip('older_report', `the report that clears it (${of}) is dated in the future, so it is no evidence`);
    const other = than === 'matched' ? `that ${traits.inverse} was done for` : 'that was seen before it';
    return skip(
      'older_report',
      `the report that clears it (${of}) is not newer than the one of ${timeText(thanMs)} ${other}`,
    );
  },
};
