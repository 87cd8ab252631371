/** Questions that are asked now and then. */
import type { TenureRecord } from '../election/status.ts'
import type { ElectionHandle } from './elections.ts'

function tenureBody(record: TenureRecord) {
  return {
    holder: record.holder,
    generation: record.generation,
    from: new Date(record.fromMs).toISOString(),
    until: record.untilMs === null ? null : new Date(record.untilMs).toISOString(),
    reason: record.reason,
    leaderlessMs: record.leaderlessMs === null ? null : Math.round(record.leaderlessMs),
  }
}

export async function historyBody(election: ElectionHandle) {
  const { source, error, tenures } = await election.history()
  return { election: election.name, source, error, tenures: tenures.map(tenureBody) }
}

/**
 * The holder's label, as the retired leader-elector sidecar answered.
 *
 * Its clients compare the name with their own and act when the two are equal. So our own name is given only while
 * we lead, as an answer that promises; and never because the store still names us, or a namesake.
 */
export function nameBody(election: ElectionHandle): { readonly name: string } {
  const { leading, validForMs, identity, current } = election.answer()
  if (leading && validForMs >= 1) return { name: identity }
  const holder = current?.holder ?? ''
  const expired = current?.expiresInMs !== null && (current?.expiresInMs ?? 0) <= 0
  return { name: expired || holder === identity ? '' : holder }
}
