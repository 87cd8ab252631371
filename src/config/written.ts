import type { Fault, Origin } from './origin.ts'
import type { SettingName } from './settings.ts'

/** A value as it was written, not yet read. */
export interface Written {
  readonly text: string
  readonly origin: Origin
}

/** What one source says: of each setting one value, or several where it takes several. */
export interface Source {
  readonly written: ReadonlyMap<SettingName, readonly Written[]>
  readonly faults: readonly Fault[]
}
