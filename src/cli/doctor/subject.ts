import type { Clock } from '../../clock/clock.ts'
import type { Environment } from '../../config/environment.ts'
import type { LoadedConfig } from '../../config/load.ts'

/** What is examined, and with what. */
export interface Subject {
  readonly config: LoadedConfig
  readonly environment: Environment
  readonly clock: Clock
}

/** The longest that looking at a store may take. */
export const STORE_WITHIN_MS = 15_000
