/**
 * The token of a claim: random, one for each row and claim, and it carries when the claim began on the server's
 * clock. So the total life of a claim is bounded by the row alone: no third column, and nothing that a caller
 * remembers, or may forget.
 *
 * The form is that of a UUID of version 7: 48 bits of milliseconds since 1970, then 74 random bits.
 */
import { LEASE_TOKEN } from './names.ts'

/** A fresh token; `ts` is the SQL of the claim's begin. Belongs into a SET list, to be computed for each row. */
export function newToken(ts: string): string {
  return `pg_catalog.concat(
      pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.floor(extract(epoch FROM ${ts}) * 1000)::pg_catalog.int8), 12, '0'),
      '7', pg_catalog.substr(pg_catalog.gen_random_uuid()::pg_catalog.text, 16))::pg_catalog.uuid`
}

const TOKEN_TEXT = `item.${LEASE_TOKEN}::pg_catalog.text`

/** SQL: when the claim of `item` began. Null for a token of another making. */
export const CLAIMED_AT = `CASE WHEN pg_catalog.substr(${TOKEN_TEXT}, 15, 1) = '7' THEN pg_catalog.to_timestamp(
      ('x' || pg_catalog.substr(pg_catalog.replace(${TOKEN_TEXT}, '-', ''), 1, 12))::pg_catalog.bit(48)::pg_catalog.int8
      / 1000.0::pg_catalog.float8) END`

/** When the claim began, on the server's clock, in ISO 8601. */
export function claimedAt(token: string): string {
  return new Date(Number.parseInt(token.replaceAll('-', '').slice(0, 12), 16)).toISOString()
}
