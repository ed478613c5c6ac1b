-- Whether a device is under MDM, as a client of `mdm/update_device` marked it: 'TRUE', 'FALSE', or '' when none did.
ALTER TABLE device ADD COLUMN mdm_marked TEXT NOT NULL DEFAULT '';
