import { CURRENT } from '../../../stores/postgres/statements.ts'
import type { Lease } from '../check.ts'
import type { Look } from './look.ts'

interface Row {
  readonly holder: string | null
  readonly session: string | null
  readonly generation: string
  readonly remaining_ms: string
}

/** The leases of our elections; none where this role may not read them. */
export async function readLeases({ session, facts, subject, signal }: Look): Promise<readonly Lease[]> {
  if (facts.missing.includes('usage') || facts.missing.includes('read')) return []
  const leases: Lease[] = []
  for (const election of subject.config.values.elections) {
    const [row] = await session.query<Row & Record<string, unknown>>(CURRENT, [election], signal)
    if (row === undefined) continue
    const { holder, session: of, generation, remaining_ms: remainingMs } = row
    leases.push({
      election,
      holder,
      session: of,
      generation: Number(generation),
      live: of !== null && remainingMs !== '0',
    })
  }
  return leases
}
