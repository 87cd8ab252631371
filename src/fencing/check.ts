import type { Fence } from './fence.ts'

const ELECTION_CHARS_MOST = 200
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** @throws TypeError where this is no tenure: an answer "not leading", say, which carries nulls. */
export function assertFence({ election, session, generation }: Fence): void {
  if (typeof election !== 'string' || election.length < 1 || election.length > ELECTION_CHARS_MOST) {
    throw new TypeError(
      `fence.election is ${show(election)}: a name has 1 to ${ELECTION_CHARS_MOST} characters`,
    )
  }
  if (typeof session !== 'string' || !UUID.test(session)) {
    throw new TypeError(`fence.session is ${show(session)}: take it from an answer that says "leading"`)
  }
  if (!Number.isSafeInteger(generation) || generation < 1) {
    throw new TypeError(`fence.generation is ${show(generation)}: take it from an answer that says "leading"`)
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
}
