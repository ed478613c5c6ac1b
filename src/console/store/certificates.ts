// console store: the client certificates that a registration gives, and their revocation.
// In: mappings of people and devices. Out: changed rows and effects. A revoked certificate is never given back: a new one is issued.
import { writeEffect } from './effects.ts';
import { type Actor, type ConsoleStore, newUuid, nowNs } from './store.ts';

export interface CertificateRecord {
  certificate: string;
  serial: string;
  device_id: string;
  email: string;
  state: 'valid' | 'revoked';
  reason: string;
}

interface MappingRow {
  enduser_pk: number;
  certificate: string;
  email: string;
  device_id: string;
  serial: string;
}

/** Revokes the certificates of a device: one person's, or all. */
export function revokeCertificates(
  store: ConsoleStore,
  actor: Actor,
  devicePk: number,
  enduserPk: number | undefined,
  reason: string,
): void {
  const rows = store.sql.all<MappingRow>(
    `SELECT m.enduser_pk, m.certificate, u.email, d.device_id, d.serial FROM mapping m
      JOIN enduser u ON u.pk = m.enduser_pk JOIN device d ON d.pk = m.device_pk
      WHERE m.device_pk = ? AND m.certificate <> '' AND (? IS NULL OR m.enduser_pk = ?)`,
    devicePk,
    enduserPk ?? null,
    enduserPk ?? null,
  );
  for (const row of rows) {
    store.sql.run(
      `INSERT INTO revoked_certificate SELECT certificate, ?, ?, ?, issued_at, ?, ? FROM mapping
        WHERE device_pk = ? AND enduser_pk = ?`,
      row.serial,
      row.device_id,
      row.email,
      nowNs(store),
      reason,
      devicePk,
      row.enduser_pk,
    );
    store.sql.run(
      "UPDATE mapping SET certificate = '' WHERE device_pk = ? AND enduser_pk = ?",
      devicePk,
      row.enduser_pk,
    );
    writeEffect(store, actor, 'certificate_revoked', row.certificate, { serial: row.serial, email: row.email, reason });
  }
}

/** A device that reports in again after its certificates were revoked gets new ones. */
export function reissueCertificates(store: ConsoleStore, actor: Actor, devicePk: number): void {
  const people = store.sql.values<number>(
    "SELECT enduser_pk FROM mapping WHERE device_pk = ? AND certificate = ''",
    devicePk,
  );
  for (const enduserPk of people) {
    const certificate = newCertificate(store);
    store.sql.run(
      'UPDATE mapping SET certificate = ?, issued_at = ? WHERE device_pk = ? AND enduser_pk = ?',
      certificate,
      nowNs(store),
      devicePk,
      enduserPk,
    );
    writeEffect(store, actor, 'certificate_issued', certificate);
  }
}

export function newCertificate(store: ConsoleStore): string {
  return newUuid(store, 'certificate').replaceAll('-', '');
}

/** All certificates, valid and revoked, of a serial number. */
export function certificatesOf(store: ConsoleStore, serial: string): CertificateRecord[] {
  return store.sql.all<CertificateRecord>(
    `SELECT m.certificate, d.serial, d.device_id, u.email, 'valid' AS state, '' AS reason FROM device d
      JOIN mapping m ON m.device_pk = d.pk JOIN enduser u ON u.pk = m.enduser_pk
      WHERE d.serial = ? AND m.certificate <> ''
      UNION ALL
      SELECT certificate, serial, device_id, email, 'revoked', reason FROM revoked_certificate WHERE serial = ?
      ORDER BY 1`,
    serial,
    serial,
  );
}
