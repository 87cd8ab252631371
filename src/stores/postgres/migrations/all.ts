import { lease } from './0001-lease.ts'
import type { Migration } from './migration.ts'

/** Every migration, in the order of their numbers. */
export const MIGRATIONS: readonly Migration[] = [lease]
