import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { bad, good, type Parsed } from './parsed.ts'

/** Where to listen. Port 0 lets the system choose a free one. */
export interface Address {
  /** An IP address without brackets, or a host name. */
  readonly host: string
  readonly port: number
}

const PORT_MOST = 65_535
const FORM = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/
const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i
const REMEDY = 'write HOST:PORT, for example 127.0.0.1:4040, [::1]:4040 or 0.0.0.0:9090'

/** Reads `HOST:PORT` or `[IPV6]:PORT`. */
export function parseAddress(text: string): Parsed<Address> {
  const match = FORM.exec(text)
  if (match === null) return bad('this is not an address to listen on', REMEDY)
  const [, inBrackets, bare = '', digits = ''] = match
  const port = Number(digits)
  if (port > PORT_MOST) return bad(`a port is ${PORT_MOST} at most`, REMEDY)
  if (inBrackets !== undefined) {
    return isIPv6(inBrackets)
      ? good({ host: inBrackets, port })
      : bad('only an IPv6 address stands in brackets', REMEDY)
  }
  if (!isHost(bare)) return bad('the host is neither an IP address nor a host name', REMEDY)
  return good({ host: bare, port })
}

/** A name made of digits and dots is a mistyped IPv4 address, not a host name. */
function isHost(text: string): boolean {
  return isIPv4(text) || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text))
}

/** As `parseAddress` reads it. */
export function formatAddress({ host, port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether only processes of the same host (or pod) can reach the address. */
function isLoopback({ host }: Address): boolean {
  const family = isIP(host)
  if (family === 0) return host.toLowerCase() === 'localhost'
  return LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

/** Reads an address that only this host can reach: what listens there may be told to step down. */
export function parseLoopbackAddress(text: string): Parsed<Address> {
  const parsed = parseAddress(text)
  if (!parsed.ok) return parsed
  if (/%|^::ffff:/i.test(parsed.value.host)) {
    return bad(
      'this form of a loopback address is one that many clients cannot use',
      'write 127.0.0.1 or [::1]',
    )
  }
  if (isLoopback(parsed.value)) return parsed
  return bad(
    'the API listens on loopback only (127.0.0.0/8, ::1 or localhost): whoever reaches it can make this instance resign',
    'set a loopback address; for probes and metrics from outside set --ops-listen',
  )
}
