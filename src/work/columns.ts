/** The two columns: the SQL that adds them, and what is found where they may be already. */
import type { Database } from './database.ts'
import { LEASE_TOKEN, LEASED_UNTIL, quoteTable, type TableName } from './names.ts'

/** Adding columns takes the whole table for a moment: who cannot have it soon must not hold up everybody else. */
const LOCK_TIMEOUT_MS = 5_000

type ColumnName = typeof LEASED_UNTIL | typeof LEASE_TOKEN

interface Column {
  readonly name: ColumnName
  readonly type: string
  readonly comment: string
  /** SQL that makes the type of another one. */
  readonly convert: string
}

const COLUMNS: readonly Column[] = [
  {
    name: LEASED_UNTIL,
    type: 'timestamptz',
    comment: "Until when the row is leased, on this server's clock; null when free.",
    convert: `${LEASED_UNTIL} AT TIME ZONE 'UTC'`,
  },
  {
    name: LEASE_TOKEN,
    type: 'uuid',
    comment: 'Token of the claim that may write the row; null when free.',
    convert: `${LEASE_TOKEN}::uuid`,
  },
]

/** Plain SQL, which may be run again. Present rows are free: the columns are null for all of them. */
export function columnsScript(table: TableName): string {
  return `BEGIN;
SET LOCAL lock_timeout = '${LOCK_TIMEOUT_MS}ms';
${addColumns(table)}
${COLUMNS.map((column) => comment(table, column)).join('\n')}
COMMIT;
`
}

function addColumns(table: TableName): string {
  const parts = COLUMNS.map(({ name, type }) => `  ADD COLUMN IF NOT EXISTS ${name} ${type}`)
  return `ALTER TABLE ${quoteTable(table)}\n${parts.join(',\n')};`
}

function comment(table: TableName, { name, comment: text }: Column): string {
  return `COMMENT ON COLUMN ${quoteTable(table)}.${name} IS '${text.replaceAll("'", "''")}';`
}

/** What stands in the way of work leases on a table, or nothing. */
export type Finding =
  | { readonly kind: 'ready' }
  /** Columns or comments are missing: `statements` add them. */
  | { readonly kind: 'to do'; readonly statements: readonly string[]; readonly adds: readonly string[] }
  | { readonly kind: 'unfit'; readonly found: string; readonly remedy: string }
  | { readonly kind: 'foreign'; readonly owner: string }

interface Found {
  readonly relkind: string
  readonly owner: string
  readonly is_owner: boolean
  /** Of a partition; else null. Quoted. */
  readonly parent: string | null
  /** Of a table `OF` a type; else null. Quoted. */
  readonly of_type: string | null
  readonly columns: readonly FoundColumn[] | null
}

interface FoundColumn {
  readonly name: ColumnName
  readonly type: string
  readonly not_null: boolean
  readonly has_default: boolean
  readonly generated: boolean
  /** Digits of a second that a time is rounded to; -1: all. */
  readonly digits: number
  readonly has_comment: boolean
}

const INSPECT = `SELECT c.relkind::pg_catalog.text AS relkind, pg_catalog.pg_get_userbyid(c.relowner) AS owner,
  pg_catalog.pg_has_role(c.relowner, 'USAGE') AS is_owner,
  (SELECT pg_catalog.format('%I.%I', pn.nspname, p.relname) FROM pg_catalog.pg_inherits i
    JOIN pg_catalog.pg_class p ON p.oid = i.inhparent JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
    WHERE c.relispartition AND i.inhrelid = c.oid) AS parent,
  CASE WHEN c.reloftype <> 0 THEN pg_catalog.format_type(c.reloftype, NULL) END AS of_type,
  (SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname,
      'type', pg_catalog.format_type(a.atttypid, NULL), 'not_null', a.attnotnull, 'has_default', a.atthasdef,
      'generated', a.attgenerated <> '', 'digits', a.atttypmod,
      'has_comment', pg_catalog.col_description(c.oid, a.attnum) IS NOT NULL))
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname IN ('${LEASED_UNTIL}', '${LEASE_TOKEN}')) AS columns
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2`

/** As `format_type` writes them. */
const TYPES: Readonly<Record<ColumnName, string>> = {
  [LEASED_UNTIL]: 'timestamp with time zone',
  [LEASE_TOKEN]: 'uuid',
}

const NOT_TABLES: Readonly<Record<string, string>> = {
  v: 'a view',
  m: 'a materialized view',
  f: 'a foreign table',
  S: 'a sequence',
  i: 'an index',
  I: 'an index',
  c: 'a type',
  t: 'a TOAST table',
}

const SYSTEM_SCHEMAS: ReadonlySet<string> = new Set(['pg_catalog', 'information_schema', 'pg_toast'])
/** As the catalog has the digits of a time that is not rounded further. */
const ALL_DIGITS = -1
/** Those of a millisecond. With fewer a lease could end before it has begun. */
const DIGITS_LEAST = 3

/** Looks, and changes nothing. */
export async function inspect(db: Database, table: TableName): Promise<Finding> {
  const { rows } = await db.query(INSPECT, [table.schema, table.name])
  const [found] = rows as readonly Found[]
  if (found === undefined) {
    return unfit(
      'there is no such table',
      'correct the name, which is taken as it stands, without folding to lower case',
    )
  }
  const { owner, is_owner: isOwner, columns } = found
  const present = columns ?? []
  const wrong = relationFault(table, found)
  if (wrong !== null) return wrong
  for (const column of present) {
    const unfitColumn = columnFault(table, column)
    if (unfitColumn !== null) return unfitColumn
  }
  if (!isOwner) return ready(present) ? { kind: 'ready' } : { kind: 'foreign', owner }
  return ready(present) ? missing(table, present) : (elsewhere(found) ?? missing(table, present))
}

function relationFault({ schema }: TableName, { relkind }: Found): Finding | null {
  const not = NOT_TABLES[relkind]
  if (not !== undefined) return unfit(`this is ${not}`, 'name the table whose rows are the work')
  if (!SYSTEM_SCHEMAS.has(schema)) return null
  return unfit('this table is part of PostgreSQL itself', 'name a table of your own')
}

/** Where the columns have to be added elsewhere, for the table takes them from there. */
function elsewhere({ parent, of_type: type }: Found): Finding | null {
  if (parent !== null)
    return unfit(
      'this is a partition, and has the columns of its parent',
      `name the parent: ${parent}; its partitions get the columns too`,
    )
  if (type !== null)
    return unfit(
      `this table has the columns of the type ${type}`,
      `run ALTER TYPE ${type} ${COLUMNS.map((one) => `ADD ATTRIBUTE ${one.name} ${one.type} CASCADE`).join(', ')}; (without those that it has), and then this again`,
    )
  return null
}

function unfit(found: string, remedy: string): Finding {
  return { kind: 'unfit', found, remedy }
}

function columnFault(table: TableName, column: FoundColumn): Finding | null {
  const { name, type, digits } = column
  const alter = `ALTER TABLE ${quoteTable(table)} ALTER COLUMN ${name}`
  const wanted = COLUMNS.find((one) => one.name === name)
  if (column.generated)
    return unfit(
      `the column ${name} is generated, and a claim has to write it`,
      `it means something else: run for example ALTER TABLE ${quoteTable(table)} RENAME COLUMN ${name} TO ${name}_before; and then this again`,
    )
  if (wanted !== undefined && type !== TYPES[name]) {
    return unfit(
      `the column ${name} is there with the type ${type}, and has to be ${wanted.type}`,
      `rename it if it means something else, or run for example: ${alter} TYPE ${wanted.type} USING ${wanted.convert};`,
    )
  }
  if (name === LEASED_UNTIL && digits !== ALL_DIGITS && digits < DIGITS_LEAST)
    return unfit(
      `the column ${name} is rounded to ${digits} digits of a second, and a lease is counted in milliseconds`,
      `run ${alter} TYPE timestamptz;`,
    )
  if (column.not_null)
    return unfit(
      `the column ${name} is NOT NULL, and a free row has null there`,
      `run ${alter} DROP NOT NULL;`,
    )
  if (column.has_default)
    return unfit(
      `the column ${name} has a default, and a new row has to be free`,
      `run ${alter} DROP DEFAULT;`,
    )
  return null
}

function ready(present: readonly FoundColumn[]): boolean {
  return COLUMNS.every(({ name }) => present.some((column) => column.name === name))
}

function missing(table: TableName, present: readonly FoundColumn[]): Finding {
  const added = COLUMNS.filter(({ name }) => !present.some((column) => column.name === name))
  const silent = COLUMNS.filter(
    ({ name }) => !present.some((column) => column.name === name && column.has_comment),
  )
  if (silent.length === 0) return { kind: 'ready' }
  return {
    kind: 'to do',
    statements: [
      `SET LOCAL lock_timeout = '${LOCK_TIMEOUT_MS}ms'`,
      ...(added.length === 0 ? [] : [addColumns(table)]),
      ...silent.map((column) => comment(table, column)),
    ],
    adds: added.map(({ name }) => name),
  }
}
