/** Two instances under one label: never a danger to the lease, always one to whoever reads a log. */
import { type Check, fault, type Lease, ok, paste, warning } from './check.ts'
import { shellWord } from './quote.ts'
import type { Neighbour } from './sidecar.ts'

const NAME = 'twin'
const RULE = 'each instance has an identity of its own, so that people can tell who leads'

/** Whether somebody else holds a lease under our label; `neighbour` is the sidecar on this host. */
export function checkTwin(lease: Lease, identity: string, neighbour: Neighbour): Check {
  const { election, holder, live } = lease
  const [where, label] = [`election ${JSON.stringify(election)}`, JSON.stringify(identity)]
  if (!live || holder !== identity) return ok(NAME, `${where}: nobody else holds it as ${label}`)
  const here = neighbour.find((answer) => answer.election === election && answer.identity === identity)
  const found = `${where}: held as ${label} by session ${lease.session} under generation ${lease.generation}`
  const remedy = paste(
    'flags',
    `--identity ${shellWord(`${identity}-2`)}`,
    'give each instance a label of its own: the name of its pod (POD_NAME) or host, or --identity',
  )
  if (here === undefined) {
    return warning(
      NAME,
      `${found}; no sidecar of that name answers here: a twin, or one that has just ended`,
      RULE,
      remedy,
    )
  }
  if (isItself(lease, here)) return ok(NAME, `${where}: held by the sidecar that answers here`)
  return fault(
    NAME,
    'other',
    `${found}; the sidecar of that name here is ${here.state}, and not the holder`,
    RULE,
    remedy,
  )
}

/** Also where it has begun another tenure since the lease was looked at. */
function isItself(lease: Lease, here: Neighbour[number]): boolean {
  if (here.draining !== null) return here.draining.generation === lease.generation
  if (!here.leading || here.generation === null) return false
  return here.session === lease.session || here.generation > lease.generation
}
