/** Reads this project's Compose file as far as tests play it. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { parseDuration } from '../../../src/config/duration.ts'

export const COMPOSE_FILE = fileURLToPath(new URL('../../../deploy/compose/compose.yaml', import.meta.url))

/** What Compose waits for before it starts whatever depends on a service. */
export type Condition = 'service_started' | 'service_healthy' | 'service_completed_successfully'

export interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly network_mode?: string
  readonly stop_signal?: NodeJS.Signals
  readonly stop_grace_period?: string
  readonly depends_on?: Readonly<Record<string, { readonly condition: Condition }>>
  readonly healthcheck?: { readonly test: readonly string[] }
}

/** The services, with merges and the defaults of variables put in. */
export function readServices(): Readonly<Record<string, Service>> {
  const text = readFileSync(COMPOSE_FILE, 'utf8').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
  return parse(text, { merge: true }).services
}

/** How long Compose waits after the signal before it kills. */
export function graceMs({ stop_grace_period: text = '10s' }: Service): number {
  const parsed = parseDuration(text)
  if (!parsed.ok) throw new Error(`stop_grace_period ${text}: ${parsed.rule}`)
  return parsed.value
}

/** Those that have to be there before it. To share a network is to depend on it. */
function needs({ depends_on = {}, network_mode = '' }: Service): readonly string[] {
  const shared = /^service:(.*)$/.exec(network_mode)?.[1]
  return shared === undefined ? Object.keys(depends_on) : [...Object.keys(depends_on), shared]
}

/** The names, each after those that it depends on. Compose starts in this order and stops in the reverse one. */
export function startOrder(services: Readonly<Record<string, Service>>): readonly string[] {
  const order: string[] = []
  const visit = (name: string): void => {
    if (order.includes(name)) return
    const service = services[name]
    if (service === undefined) throw new Error(`there is no service ${name}`)
    for (const needed of needs(service)) visit(needed)
    order.push(name)
  }
  for (const name of Object.keys(services)) visit(name)
  return order
}
