/** The notification of a release: which election, under which generation. Short, whatever the name. */
import { createHash } from 'node:crypto'

export const CHANNEL = 'tenure'

/** Names longer than this are told by a digest. */
const NAME_MOST_BYTES = 128

/** How notifications tell an election. */
export function notificationKey(election: string): string {
  if (Buffer.byteLength(election) <= NAME_MOST_BYTES) return `=${election}`
  return `#${createHash('sha256').update(election).digest('hex')}`
}

export function notificationOf(election: string, generation: number): string {
  return `${generation} ${notificationKey(election)}`
}

/** The election's key in a notification; null where it is not one of ours. */
export function readNotification(payload: string): string | null {
  return /^\d+ (?<key>[=#].*)$/s.exec(payload)?.groups?.key ?? null
}
