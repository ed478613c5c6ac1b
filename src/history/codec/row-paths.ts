// history codec: the paths and subjects of rows that are one value each. In: nothing. Out: names, which the segments of all versions have.

/** The whole of a noun, as JSON. */
export const WHOLE = 'json';
/** The subject of the settings that deciding reads. */
export const SETTINGS = 'deciding';
/** The subject of the number of the newest recorded event. */
export const EVENTS_TO = 'events';
