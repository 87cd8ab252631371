/** A SQLite file, without making or changing it. */
import { existsSync } from 'node:fs'
import type { Check, Findings } from '../check.ts'
import { ok, skipped } from '../check.ts'
import type { Subject } from '../subject.ts'
import { examineContent } from './content.ts'
import { checkPlaceOf, findPath } from './place.ts'
import { checkLinks, checkOthers, checkRights } from './rights.ts'

export async function examineSqlite(subject: Subject): Promise<Findings> {
  const { config, environment } = subject
  const { path, checks: wrongUrl } = findPath(config.values.store.url, environment)
  if (path === null) return { checks: wrongUrl, leases: [] }
  const place = checkPlaceOf(path)
  if (isFaulty(place)) return { checks: place, leases: [] }
  const files = [...place, ...checkRights(path), ...checkOthers(path), ...checkLinks(path)]
  if (isFaulty(files))
    return { checks: [...files, skipped('content', 'not looked at before the file can be used')], leases: [] }
  const clock = ok(
    'clock',
    'leases expire by the boot clock of this host: there is no other to compare it with',
  )
  if (!existsSync(path)) {
    const empty = ok('content', `${path} is not there yet: the first sidecar makes it`)
    return { checks: [...files, empty, clock], leases: [] }
  }
  const { checks, leases } = examineContent(path, subject)
  return { checks: [...files, ...checks, clock], leases }
}

function isFaulty(checks: readonly Check[]): boolean {
  return checks.some(({ status }) => status === 'fault')
}
