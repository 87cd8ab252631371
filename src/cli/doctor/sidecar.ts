/** The addresses that a sidecar listens on, and the sidecar that may be there already. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Address, formatAddress } from '../../config/address.ts'
import type { Flags } from '../../config/flags.ts'
import { messageOf } from '../../config/text-file.ts'
import { VERSION } from '../../version.ts'
import type { Io } from '../command.ts'
import { CommandError } from '../exit.ts'
import { askLeadership, type Leadership } from '../leadership.ts'
import { query, readTarget } from '../target.ts'
import { advise, type Check, fault, ok, paste, skipped, warning } from './check.ts'
import type { Subject } from './subject.ts'

const METRICS_WITHIN_MS = 5_000
const BUILD_INFO = /^tenure_build_info\{[^}]*version="([^"]*)"/m

/** What answered on `--listen`: one answer for each of our elections that runs there; none: no sidecar. */
export type Neighbour = readonly Leadership[]

export async function examineSidecar(
  { config, clock }: Subject,
  flags: Flags,
  io: Io,
): Promise<{ readonly checks: readonly Check[]; readonly neighbour: Neighbour }> {
  const { listen, opsListen, elections, identity } = config.values
  if (listen.port === 0 || opsListen?.port === 0) {
    return { checks: [skipped('listen', 'the system chooses the port: see the log')], neighbour: [] }
  }
  const { target } = await readTarget(flags, io, () => null)
  const neighbour = await askAll(target.api, elections, io)
  const [first] = neighbour
  if (first === undefined || first.identity !== identity) {
    const addresses = [['listen', listen] as const, ['ops-listen', opsListen] as const]
    const checks = addresses.map(([name, address]) => address && checkFree(name, address, first))
    return { checks: (await Promise.all(checks)).filter((check) => check !== null), neighbour }
  }
  const version = await versionOf(`${target.probes}/metrics`, clock)
  const found = `the sidecar ${JSON.stringify(identity)} answers on ${formatAddress(listen)}`
  return { checks: [ok('listen', found), checkVersion(version)], neighbour }
}

async function askAll(api: string, elections: readonly string[], { clock }: Io): Promise<Neighbour> {
  const answers: Leadership[] = []
  for (const election of elections) {
    try {
      // The form that promises nothing, so that looking never delays a release.
      answers.push(
        await askLeadership(`${api}/v1/leadership${query(election, { after: 'none', wait: '0' })}`, clock),
      )
    } catch (error) {
      // Nobody, no sidecar, or one that runs other elections: whether the address is free shows next.
      if (!(error instanceof CommandError)) throw error
    }
  }
  return answers
}

/** The version that a sidecar tells with its metrics; null where it tells none. */
async function versionOf(url: string, clock: Subject['clock']): Promise<string | null> {
  const controller = new AbortController()
  const cancel = clock.after(METRICS_WITHIN_MS, () => controller.abort())
  try {
    const response = await fetch(url, { redirect: 'error', signal: controller.signal })
    return BUILD_INFO.exec(await response.text())?.[1] ?? null
  } catch {
    return null // Probes may answer elsewhere; that is asked for, and told, by other checks.
  } finally {
    cancel()
  }
}

function checkVersion(version: string | null): Check {
  if (version === null) return skipped('version', 'the sidecar that runs here does not tell its version')
  if (version === VERSION)
    return ok('version', `the sidecar that runs here has version ${version}, as this program`)
  return warning(
    'version',
    `the sidecar that runs here has version ${version}, and this program ${VERSION}`,
    'what was examined is what runs',
    advise('end that sidecar with SIGTERM, and start it anew from this version'),
  )
}

/** Whether a sidecar could listen there. */
async function checkFree(name: string, address: Address, other: Leadership | undefined): Promise<Check> {
  const error = await tryToListen(address)
  if (error === null) return ok(name, `${formatAddress(address)} is free`)
  const who =
    other === undefined || name !== 'listen'
      ? ''
      : `: the sidecar ${JSON.stringify(other.identity)} listens there`
  const host = error.code === 'EADDRNOTAVAIL' ? (name === 'listen' ? '127.0.0.1' : '0.0.0.0') : address.host
  const free = formatAddress({ host, port: await freePort(host) })
  return fault(
    name,
    'other',
    `cannot listen on ${formatAddress(address)} (${error.code ?? messageOf(error)})${who}`,
    'a sidecar that cannot listen does not start',
    paste('flags', `--${name} ${free}`, `stop what listens there, or choose another address with --${name}`),
  )
}

async function tryToListen({ host, port }: Address): Promise<NodeJS.ErrnoException | null> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    return null
  } catch (error) {
    return error as NodeJS.ErrnoException
  } finally {
    server.close()
  }
}

async function freePort(host: string): Promise<number> {
  const server = createServer()
  await once(server.listen(0, host), 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
