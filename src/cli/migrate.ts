/** `tenure migrate`: installs or updates the schema in PostgreSQL. */
import type { Flags } from '../config/flags.ts'
import { mergeSources } from '../config/load.ts'
import type { Merged } from '../config/merge.ts'
import { ConfigError } from '../config/origin.ts'
import type { SettingName } from '../config/settings.ts'
import { storeLimits } from '../config/store-limits.ts'
import { readStore, resolveStoreUrl } from '../config/store-settings.ts'
import { SWITCH } from '../config/value-type.ts'
import type { StoreSettings } from '../stores/store.ts'
import { type Command, type Io, isOn } from './command.ts'
import { EXIT } from './exit.ts'

const SETTINGS = [
  'store',
  'store-file',
  'store-password',
  'store-password-file',
  'config',
] as const satisfies readonly SettingName[]

export const command: Command = {
  name: 'migrate',
  usage: '[--store URL] [--print]',
  about:
    'Brings the schema of a PostgreSQL store up to date; safe to run again. With --print it connects nowhere and writes the SQL for a database administrator. A SQLite store looks after itself.',
  settings: SETTINGS,
  own: { print: { type: SWITCH, help: 'print the SQL and change nothing', defaultHelp: '' } },
  argumentsMost: 0,
  examples: ['tenure migrate --store postgres://owner@db.internal/app', 'tenure migrate --print | less'],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const merged = await mergeSources({ flags, environment: io.environment, scope: SETTINGS }, false)
  if (isOn('print', flags)) {
    if (merged.faults.length > 0) throw new ConfigError(merged.faults)
    const { migrationScript } = await import('../stores/postgres/migrate.ts')
    io.stdout.write(migrationScript())
    return EXIT.ok
  }
  const store = readMigratable(merged)
  if (/^sqlite:/i.test(store.url)) {
    io.stdout.write('a SQLite store needs no migration: its file is brought up to date when it is opened\n')
    return EXIT.ok
  }
  return migrateStore(store, io)
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
