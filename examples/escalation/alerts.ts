import { type Journal, sql, WorkTable } from 'tenure/work'

export interface Alert {
  readonly id: string
  readonly title: string
  readonly firing: boolean
  /** The step that comes next. */
  readonly step: number
  readonly due_at: Date | null
}

/** How many leases a claim may last in total. */
const LEASES_MOST = 10

/** The alerts as work: those that fire and are due, longest due first. */
export function alerts(leaseMs: number, journal: Journal): WorkTable<Alert> {
  return new WorkTable<Alert>({
    table: 'escalation.alert',
    key: 'id',
    due: sql`item.firing AND item.due_at <= pg_catalog.clock_timestamp()`,
    orderBy: sql`item.due_at, item.id`,
    leaseMs,
    lifeMs: LEASES_MOST * leaseMs,
    journal,
  })
}
