// bench: fifty conditions, each as JSON Logic and as the JavaScript that somebody would write by hand for it.
// The hand-written form survives a missing part, as it must, but takes it for false: no types, no unknown, no reasons.
export interface BenchDevice {
  DeviceID: string;
  Ownership: string;
  Platform: string;
  RegisteredStatus: string;
  LoginCount: number;
  LastLogin: number;
  Roles?: string[];
  MdmData?: { Timestamp: number; CompromisedStatus: string; CompliantStatus: string };
  TrustData?: {
    EntityTrustscore: number;
    AccessTrustscore: number;
    OverrideActive: string;
    Level: string;
    Factors?: { Name: string; Value: string }[];
  };
}

const LONG_AGO = 1_750_000_000_000_000_000;

export const CONDITIONS: { when: string; byHand: (d: BenchDevice) => boolean | undefined }[] = [
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},5]},{"!":[{"==":[{"var":"Ownership"},"Employee Owned"]}]}]}',
    byHand: (d) => d.LoginCount < 5 && !(d.Ownership === 'Employee Owned'),
  },
  {
    when: '{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]}',
    byHand: (d) => d.MdmData?.CompromisedStatus === 'TRUE',
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]},{"!=":[{"var":"Platform"},"Linux"]}]}',
    byHand: (d) => d.MdmData?.CompromisedStatus === 'TRUE' && d.Platform !== 'Linux',
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{"!":[{"==":[{"var":"Platform"},"Windows"]}]}]}',
    byHand: (d) => d.MdmData?.CompliantStatus === 'FALSE' && !(d.Platform === 'Windows'),
  },
  {
    when: '{"<":[{"var":"LoginCount"},10]}',
    byHand: (d) => d.LoginCount < 10,
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},15]},{"!":[{">=":[{"var":"TrustData.AccessTrustscore"},30]}]}]}',
    byHand: (d) => d.LoginCount < 15 && !((d.TrustData?.AccessTrustscore ?? 0) >= 30),
  },
  {
    when: '{"and":[{"<":[{"var":"LastLogin"},1750000000000000000]},{"==":[{"var":"Ownership"},"Employee Owned"]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]}]}',
    byHand: (d) =>
      d.LastLogin < LONG_AGO && d.Ownership === 'Employee Owned' && d.TrustData?.OverrideActive === 'FALSE',
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},5]},{"or":[{">=":[{"var":"TrustData.AccessTrustscore"},50]},{">=":[{"var":"TrustData.AccessTrustscore"},30]}]}]}',
    byHand: (d) =>
      d.LoginCount < 5 && ((d.TrustData?.AccessTrustscore ?? 0) >= 50 || (d.TrustData?.AccessTrustscore ?? 0) >= 30),
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},15]},{"!":[{"!=":[{"var":"Platform"},"Linux"]}]}]}',
    byHand: (d) => d.LoginCount < 15 && !(d.Platform !== 'Linux'),
  },
  {
    when: '{"and":[{"in":["contractor",{"var":"Roles"}]},{"or":[{"!=":[{"var":"Platform"},"Linux"]},{">=":[{"var":"TrustData.AccessTrustscore"},10]}]}]}',
    byHand: (d) =>
      d.Roles?.includes('contractor') && (d.Platform !== 'Linux' || (d.TrustData?.AccessTrustscore ?? 0) >= 10),
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},15]},{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]}]}',
    byHand: (d) =>
      d.LoginCount < 15 &&
      (d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared') &&
      d.TrustData?.OverrideActive === 'FALSE',
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},5]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{"!=":[{"var":"Platform"},"Linux"]},{"==":[{"var":"Ownership"},"Employee Owned"]}]}',
    byHand: (d) =>
      (d.TrustData?.EntityTrustscore ?? 100) < 5 &&
      d.TrustData?.OverrideActive === 'FALSE' &&
      d.Platform !== 'Linux' &&
      d.Ownership === 'Employee Owned',
  },
  {
    when: '{"and":[{"==":[{"var":"Ownership"},"Employee Owned"]},{"==":[{"var":"MdmData.Timestamp"},0]}]}',
    byHand: (d) => d.Ownership === 'Employee Owned' && d.MdmData?.Timestamp === 0,
  },
  {
    when: '{"and":[{"==":[{"var":"RegisteredStatus"},"TRUE"]},{"<":[{"var":"LastLogin"},1750000000000000000]}]}',
    byHand: (d) => d.RegisteredStatus === 'TRUE' && d.LastLogin < LONG_AGO,
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},5]},{"==":[{"var":"Platform"},"Windows"]}]}',
    byHand: (d) => (d.TrustData?.EntityTrustscore ?? 100) < 5 && d.Platform === 'Windows',
  },
  {
    when: '{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]}',
    byHand: (d) => d.MdmData?.CompromisedStatus === 'TRUE',
  },
  {
    when: '{"<":[{"var":"LoginCount"},15]}',
    byHand: (d) => d.LoginCount < 15,
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]},{"!":[{"==":[{"var":"Platform"},"Windows"]}]}]}',
    byHand: (d) => d.MdmData?.CompromisedStatus === 'TRUE' && !(d.Platform === 'Windows'),
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.Timestamp"},0]},{">=":[{"var":"TrustData.AccessTrustscore"},50]}]}',
    byHand: (d) => d.MdmData?.Timestamp === 0 && (d.TrustData?.AccessTrustscore ?? 0) >= 50,
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},10]},{"==":[{"var":"Platform"},"Windows"]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]}]}',
    byHand: (d) =>
      (d.TrustData?.EntityTrustscore ?? 100) < 10 &&
      d.Platform === 'Windows' &&
      d.TrustData?.OverrideActive === 'FALSE',
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]},{"==":[{"var":"Platform"},"Windows"]},{"!":[{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}]}',
    byHand: (d) =>
      d.MdmData?.CompromisedStatus === 'TRUE' && d.Platform === 'Windows' && !(d.RegisteredStatus === 'TRUE'),
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},15]},{"!":[{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}]}',
    byHand: (d) => d.LoginCount < 15 && !(d.RegisteredStatus === 'TRUE'),
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{"!":[{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}]}',
    byHand: (d) => d.MdmData?.CompliantStatus === 'FALSE' && !(d.RegisteredStatus === 'TRUE'),
  },
  {
    when: '{"and":[{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]},{"in":[{"var":"TrustData.Level"},["AlwaysDeny","Low"]]},{"!=":[{"var":"Platform"},"Linux"]},{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}',
    byHand: (d) =>
      (d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared') &&
      (d.TrustData?.Level === 'AlwaysDeny' || d.TrustData?.Level === 'Low') &&
      d.Platform !== 'Linux' &&
      d.RegisteredStatus === 'TRUE',
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompromisedStatus"},"TRUE"]},{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}',
    byHand: (d) => d.MdmData?.CompromisedStatus === 'TRUE' && d.RegisteredStatus === 'TRUE',
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},10]},{"!=":[{"var":"Platform"},"Linux"]},{"!":[{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]}]}]}',
    byHand: (d) =>
      (d.TrustData?.EntityTrustscore ?? 100) < 10 &&
      d.Platform !== 'Linux' &&
      !(d.TrustData?.OverrideActive === 'FALSE'),
  },
  {
    when: '{"and":[{"!=":[{"var":"Platform"},"Linux"]},{"in":["contractor",{"var":"Roles"}]},{"==":[{"var":"Ownership"},"Employee Owned"]}]}',
    byHand: (d) => d.Platform !== 'Linux' && d.Roles?.includes('contractor') && d.Ownership === 'Employee Owned',
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},5]},{"or":[{"==":[{"var":"RegisteredStatus"},"TRUE"]},{"==":[{"var":"Platform"},"Windows"]}]}]}',
    byHand: (d) =>
      (d.TrustData?.EntityTrustscore ?? 100) < 5 && (d.RegisteredStatus === 'TRUE' || d.Platform === 'Windows'),
  },
  {
    when: '{"and":[{"<":[{"var":"TrustData.EntityTrustscore"},5]},{"or":[{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{">=":[{"var":"TrustData.AccessTrustscore"},30]}]}]}',
    byHand: (d) =>
      (d.TrustData?.EntityTrustscore ?? 100) < 5 &&
      (d.TrustData?.OverrideActive === 'FALSE' || (d.TrustData?.AccessTrustscore ?? 0) >= 30),
  },
  {
    when: '{"<":[{"var":"LastLogin"},1750000000000000000]}',
    byHand: (d) => d.LastLogin < LONG_AGO,
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.Timestamp"},0]},{"==":[{"var":"Ownership"},"Employee Owned"]},{"!":[{">=":[{"var":"TrustData.AccessTrustscore"},10]}]}]}',
    byHand: (d) =>
      d.MdmData?.Timestamp === 0 && d.Ownership === 'Employee Owned' && !((d.TrustData?.AccessTrustscore ?? 0) >= 10),
  },
  {
    when: '{"and":[{"in":[{"var":"TrustData.Level"},["AlwaysDeny","Low"]]},{"!":[{"==":[{"var":"Platform"},"Windows"]}]}]}',
    byHand: (d) => (d.TrustData?.Level === 'AlwaysDeny' || d.TrustData?.Level === 'Low') && !(d.Platform === 'Windows'),
  },
  {
    when: '{"and":[{"<":[{"var":"LastLogin"},1750000000000000000]},{"or":[{">=":[{"var":"TrustData.AccessTrustscore"},40]},{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]}]}]}',
    byHand: (d) =>
      d.LastLogin < LONG_AGO &&
      ((d.TrustData?.AccessTrustscore ?? 0) >= 40 ||
        d.Ownership === 'Corporate Dedicated' ||
        d.Ownership === 'Corporate Shared'),
  },
  {
    when: '{"and":[{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{"<":[{"var":"LoginCount"},10]},{"==":[{"var":"RegisteredStatus"},"TRUE"]},{">=":[{"var":"TrustData.AccessTrustscore"},30]}]}',
    byHand: (d) =>
      d.TrustData?.OverrideActive === 'FALSE' &&
      d.LoginCount < 10 &&
      d.RegisteredStatus === 'TRUE' &&
      (d.TrustData?.AccessTrustscore ?? 0) >= 30,
  },
  {
    when: '{"==":[{"var":"MdmData.Timestamp"},0]}',
    byHand: (d) => d.MdmData?.Timestamp === 0,
  },
  {
    when: '{"and":[{">=":[{"var":"TrustData.AccessTrustscore"},10]},{"<":[{"var":"LoginCount"},15]}]}',
    byHand: (d) => (d.TrustData?.AccessTrustscore ?? 0) >= 10 && d.LoginCount < 15,
  },
  {
    when: '{"and":[{"in":["contractor",{"var":"Roles"}]},{"==":[{"var":"Ownership"},"Employee Owned"]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]}]}',
    byHand: (d) =>
      d.Roles?.includes('contractor') && d.Ownership === 'Employee Owned' && d.TrustData?.OverrideActive === 'FALSE',
  },
  {
    when: '{"<":[{"var":"TrustData.EntityTrustscore"},5]}',
    byHand: (d) => (d.TrustData?.EntityTrustscore ?? 100) < 5,
  },
  {
    when: '{"and":[{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]}]}',
    byHand: (d) => d.TrustData?.OverrideActive === 'FALSE' && d.MdmData?.CompliantStatus === 'FALSE',
  },
  {
    when: '{"and":[{"some":[{"var":"TrustData.Factors"},{"==":[{"var":"Value"},"FAIL"]}]},{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}',
    byHand: (d) => d.TrustData?.Factors?.some((factor) => factor.Value === 'FAIL') && d.RegisteredStatus === 'TRUE',
  },
  {
    when: '{"and":[{"<":[{"var":"LastLogin"},1750000000000000000]},{">=":[{"var":"TrustData.AccessTrustscore"},50]},{">=":[{"var":"TrustData.AccessTrustscore"},40]},{"!":[{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]}]}]}',
    byHand: (d) =>
      d.LastLogin < LONG_AGO &&
      (d.TrustData?.AccessTrustscore ?? 0) >= 50 &&
      (d.TrustData?.AccessTrustscore ?? 0) >= 40 &&
      !(d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared'),
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]},{">=":[{"var":"TrustData.AccessTrustscore"},30]}]}',
    byHand: (d) =>
      d.MdmData?.CompliantStatus === 'FALSE' &&
      d.TrustData?.OverrideActive === 'FALSE' &&
      (d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared') &&
      (d.TrustData?.AccessTrustscore ?? 0) >= 30,
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{">=":[{"var":"TrustData.AccessTrustscore"},50]}]}',
    byHand: (d) => d.MdmData?.CompliantStatus === 'FALSE' && (d.TrustData?.AccessTrustscore ?? 0) >= 50,
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}',
    byHand: (d) => d.MdmData?.CompliantStatus === 'FALSE' && d.RegisteredStatus === 'TRUE',
  },
  {
    when: '{"and":[{"!=":[{"var":"Platform"},"Linux"]},{"<":[{"var":"LoginCount"},10]}]}',
    byHand: (d) => d.Platform !== 'Linux' && d.LoginCount < 10,
  },
  {
    when: '{"and":[{"==":[{"var":"MdmData.CompliantStatus"},"FALSE"]},{"==":[{"var":"RegisteredStatus"},"TRUE"]},{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]}]}',
    byHand: (d) =>
      d.MdmData?.CompliantStatus === 'FALSE' &&
      d.RegisteredStatus === 'TRUE' &&
      (d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared'),
  },
  {
    when: '{"and":[{">=":[{"var":"TrustData.AccessTrustscore"},40]},{"==":[{"var":"MdmData.Timestamp"},0]},{"==":[{"var":"RegisteredStatus"},"TRUE"]}]}',
    byHand: (d) =>
      (d.TrustData?.AccessTrustscore ?? 0) >= 40 && d.MdmData?.Timestamp === 0 && d.RegisteredStatus === 'TRUE',
  },
  {
    when: '{"and":[{"<":[{"var":"LoginCount"},10]},{"or":[{"==":[{"var":"TrustData.OverrideActive"},"FALSE"]},{"==":[{"var":"RegisteredStatus"},"TRUE"]},{">=":[{"var":"TrustData.AccessTrustscore"},50]}]}]}',
    byHand: (d) =>
      d.LoginCount < 10 &&
      (d.TrustData?.OverrideActive === 'FALSE' ||
        d.RegisteredStatus === 'TRUE' ||
        (d.TrustData?.AccessTrustscore ?? 0) >= 50),
  },
  {
    when: '{"and":[{"in":[{"var":"TrustData.Level"},["AlwaysDeny","Low"]]},{"!":[{"==":[{"var":"Ownership"},"Employee Owned"]}]}]}',
    byHand: (d) =>
      (d.TrustData?.Level === 'AlwaysDeny' || d.TrustData?.Level === 'Low') && !(d.Ownership === 'Employee Owned'),
  },
  {
    when: '{"and":[{"<":[{"var":"LastLogin"},1750000000000000000]},{"==":[{"var":"Platform"},"Windows"]},{"in":[{"var":"Ownership"},["Corporate Dedicated","Corporate Shared"]]}]}',
    byHand: (d) =>
      d.LastLogin < LONG_AGO &&
      d.Platform === 'Windows' &&
      (d.Ownership === 'Corporate Dedicated' || d.Ownership === 'Corporate Shared'),
  },
];
