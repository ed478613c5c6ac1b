// domain: the formats that a report is written in, for the command line and the HTTP endpoint alike.

export const REPORT_FORMATS = ['text', 'json', 'md', 'csv', 'html'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];
