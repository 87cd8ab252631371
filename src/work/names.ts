/** Names of tables and columns, quoted so that nothing but a name can come of them. */

/** PostgreSQL cuts off what is longer, without a word. */
const NAME_MOST_BYTES = 63
/** Where a table without a schema is looked for: a search path differs from session to session behind a pooler. */
const DEFAULT_SCHEMA = 'public'
/** One part of a table's name: bare, or in double quotes with inner ones doubled; and what follows it. */
const PART = /(?:"((?:[^"]|"")+)"|([^".,]+))([.,]|$)/y

/** A table, as PostgreSQL's catalog writes it. */
export interface TableName {
  readonly schema: string
  readonly name: string
}

/** The columns of a lease. */
export const LEASED_UNTIL = 'leased_until'
export const LEASE_TOKEN = 'lease_token'

/**
 * Reads `schema.table`, or `table` for `public.table`. Names are taken as they stand, without folding to lower case;
 * a part that has a dot or a comma in it goes into double quotes.
 *
 * @throws TypeError where that is no name of a table.
 */
export function parseTable(text: string): TableName {
  const [table, another] = parseTables(text)
  if (table === undefined || another !== undefined) throw tableFault(text)
  return table
}

/** As `parseTable`, for several with commas between them. */
export function parseTables(text: string): readonly TableName[] {
  const tables: string[][] = [[]]
  PART.lastIndex = 0
  for (let follows: string | undefined = '.'; follows !== ''; ) {
    const match = PART.exec(text)
    if (match === null) throw tableFault(text)
    tables.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    follows = match[3]
    if (follows === ',') tables.push([])
  }
  return tables.map((parts) => tableOf(parts, text))
}

function tableOf(parts: readonly string[], text: string): TableName {
  const [first, second, third] = parts
  if (first === undefined || third !== undefined) throw tableFault(text)
  const table =
    second === undefined ? { schema: DEFAULT_SCHEMA, name: first } : { schema: first, name: second }
  quoteTable(table)
  return table
}

function tableFault(text: string): TypeError {
  return new TypeError(
    `table ${JSON.stringify(text)}: a table is named as schema.table, or as table in the schema public; write it so, with double quotes around a part that has a dot or a comma in it`,
  )
}

/** As SQL wants it. */
export function quoteTable({ schema, name }: TableName): string {
  return `${quoteName(schema)}.${quoteName(name)}`
}

/** As SQL wants it. @throws TypeError where PostgreSQL would not take it for this very name. */
export function quoteName(name: string): string {
  const bytes = Buffer.byteLength(name)
  if (bytes === 0 || bytes > NAME_MOST_BYTES || name.includes('\0')) {
    throw new TypeError(
      `name ${JSON.stringify(name)}: a name has 1 to ${NAME_MOST_BYTES} bytes and no NUL; correct it`,
    )
  }
  return `"${name.replaceAll('"', '""')}"`
}
