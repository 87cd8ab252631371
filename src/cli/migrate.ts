/** `tenure migrate`: installs or updates the schema in PostgreSQL, or prepares tables of yours for work leases. */
import type { Flags, OwnFlag } from '../config/flags.ts'
import { mergeSources } from '../config/load.ts'
import type { Merged } from '../config/merge.ts'
import { ConfigError } from '../config/origin.ts'
import { bad, good } from '../config/parsed.ts'
import type { SettingName } from '../config/settings.ts'
import { storeLimits } from '../config/store-limits.ts'
import { readStore, resolveStoreUrl } from '../config/store-settings.ts'
import { NAME, SWITCH } from '../config/value-type.ts'
import type { StoreSettings } from '../stores/store.ts'
import { parseTables, quoteTable, type TableName } from '../work/names.ts'
import { type Command, type Io, isOn, ownValue } from './command.ts'
import { EXIT } from './exit.ts'

const SETTINGS = [
  'store',
  'store-file',
  'store-password',
  'store-password-file',
  'config',
] as const satisfies readonly SettingName[]

const WORK: OwnFlag<readonly TableName[]> = {
  type: {
    ...NAME,
    placeholder: 'TABLE[,TABLE…]',
    parse: (text) => {
      try {
        return good(parseTables(text))
      } catch {
        return bad(
          'a table is named as schema.table, or as table in the schema public, each part of 1 to 63 bytes',
          'write for example app.jobs,app.alerts, with double quotes around a part that has a dot or a comma in it',
        )
      }
    },
    show: (tables) => tables.map(quoteTable).join(','),
  },
  help: 'add the columns of work leases to these tables instead, and touch nothing else',
  defaultHelp: '',
  many: true,
}

export const command: Command = {
  name: 'migrate',
  usage: '[--store URL] [--work TABLE] [--print]',
  about:
    'Brings the schema of a PostgreSQL store up to date; safe to run again. With --work it adds the two columns of work leases to tables of yours instead, and needs no schema of its own. With --print it connects nowhere and writes the SQL for a database administrator. A SQLite store looks after itself.',
  settings: SETTINGS,
  own: {
    print: { type: SWITCH, help: 'print the SQL and change nothing', defaultHelp: '' },
    work: WORK,
  },
  argumentsMost: 0,
  examples: [
    'tenure migrate --store postgres://owner@db.internal/app',
    'tenure migrate --print | less',
    'tenure migrate --work app.jobs --store postgres://owner@db.internal/app',
  ],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const merged = await mergeSources({ flags, environment: io.environment, scope: SETTINGS }, false)
  const tables = ownValue(WORK, 'work', flags, merged)
  if (isOn('print', flags)) {
    if (merged.faults.length > 0) throw new ConfigError(merged.faults)
    io.stdout.write(await script(tables))
    return EXIT.ok
  }
  const store = readMigratable(merged)
  if (tables !== null) return prepareWork(store, tables, merged, io)
  if (isSqlite(store)) {
    io.stdout.write('a SQLite store needs no migration: its file is brought up to date when it is opened\n')
    return EXIT.ok
  }
  return migrateStore(store, io)
}

async function script(tables: readonly TableName[] | null): Promise<string> {
  if (tables === null) return (await import('../stores/postgres/migrate.ts')).migrationScript()
  const { columnsScript } = await import('../work/columns.ts')
  return tables.map(columnsScript).join('\n')
}

function isSqlite({ url }: StoreSettings): boolean {
  return /^sqlite:/i.test(url)
}

function readMigratable(merged: Merged): StoreSettings {
  resolveStoreUrl(merged)
  const store = readStore(merged)
  const limits = store === null ? null : storeLimits(store.url)
  if (limits?.ok === false) merged.fault(merged.origin('store')?.text ?? 'store', limits.rule, limits.remedy)
  if (store === null || merged.faults.length > 0) throw new ConfigError(merged.faults)
  return store
}

async function migrateStore(store: StoreSettings, io: Io): Promise<number> {
  const { migrate } = await import('../stores/postgres/migrate.ts')
  const note = (message: string) => io.stderr.write(`tenure: ${message}\n`)
  const { applied, present } = await migrate(store, { clock: io.clock, note })
  for (const name of applied) io.stdout.write(`applied ${name}\n`)
  if (applied.length === 0) io.stdout.write(`up to date: ${present.length} migrations were there already\n`)
  return EXIT.ok
}

async function prepareWork(
  store: StoreSettings,
  tables: readonly TableName[],
  merged: Merged,
  io: Io,
): Promise<number> {
  if (!/^postgres(ql)?:/i.test(store.url)) {
    const origin = merged.origin('store')
    const where = origin === null || origin.kind === 'default' ? 'store' : origin.text
    merged.fault(where, 'work leases are kept in PostgreSQL', 'name its database with --store postgres://…')
    throw new ConfigError(merged.faults)
  }
  const { prepareTables } = await import('../work/migrate.ts')
  const note = (message: string) => io.stderr.write(`tenure: ${message}\n`)
  for (const { table, added } of await prepareTables(store, tables, { clock: io.clock, note })) {
    const done = added.length === 0 ? 'up to date' : `added ${added.join(', ')}`
    io.stdout.write(`${quoteTable(table)}: ${done}\n`)
  }
  return EXIT.ok
}
