import { lease } from './0001-lease.ts'
import { guard } from './0002-guard.ts'
import { tableGuard } from './0003-table-guard.ts'
import { highWater } from './0004-high-water.ts'
import { history } from './0005-history.ts'
import type { Migration } from './migration.ts'

/** Every migration, in the order of their numbers. */
export const MIGRATIONS: readonly Migration[] = [lease, guard, tableGuard, highWater, history]
