/**
 * Plays a Compose file with plain processes: the same commands, environment, order and signals. What containers would
 * give is put in otherwise: names of hosts become the loopback, and each pair gets an address of its own on it.
 */
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { readStages } from '../image/dockerfile.ts'
import { freePort } from '../postgres.ts'
import { cleanEnvironment, SidecarProcess, until } from '../sidecar.ts'
import { COMPOSE_FILE, graceMs, readServices, type Service, startOrder } from './file.ts'

const run = promisify(execFile)
const ENTRYPOINT = readStages().at(-1)?.words('ENTRYPOINT') ?? []

export interface Surroundings {
  /** The bundle, which is /app/tenure.mjs of the image. */
  readonly bundle: string
  /** Where the server of the service `postgres` listens on the loopback. */
  readonly postgresPort: number
}

export interface Played {
  readonly name: string
  readonly service: Service
  readonly process: SidecarProcess
}

/** How a service ended that was told to. */
export interface Stopped {
  readonly name: string
  readonly code: number | null
  readonly tookMs: number
}

export class Stack {
  readonly services = readServices()
  readonly #around: Surroundings
  readonly #ports = new Map<string, number>()
  readonly #played = new Map<string, Played>()

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** Starts each service once those that it needs are as it needs them; PostgreSQL is there already. */
  async up(): Promise<void> {
    const started = new Map<string, Promise<void>>()
    for (const name of startOrder(this.services)) {
      const needed = Object.entries(this.#service(name).depends_on ?? {})
      const ready = needed.map(async ([one, { condition }]) => {
        await started.get(one)
        if (condition === 'service_healthy') await this.#healthy(one)
        if (condition === 'service_completed_successfully') await this.#completed(one)
      })
      started.set(
        name,
        Promise.all(ready).then(() => this.#start(name)),
      )
    }
    await Promise.all(started.values())
  }

  /** As `docker compose stop NAMES`: in the reverse order of the start, each told, waited for, and killed if it must. */
  async stop(names: readonly string[]): Promise<readonly Stopped[]> {
    const ended: Stopped[] = []
    for (const { name, service, process } of this.played.toReversed()) {
      if (!names.includes(name) || process.ended) continue
      const fromMs = performance.now()
      process.kill(service.stop_signal ?? 'SIGTERM')
      const timer = setTimeout(() => process.kill('SIGKILL'), graceMs(service))
      const code = await process.exited()
      clearTimeout(timer)
      ended.push({ name, code, tookMs: performance.now() - fromMs })
    }
    return ended
  }

  /** As `docker compose exec NAME …`, in a container of the image. Rejects unless it exits with 0. */
  async exec(name: string, command: readonly string[]): Promise<string> {
    const [program = '', ...words] = command.map((word) => this.#translated(word))
    const env = cleanEnvironment(await this.#environment(name))
    return (await run(program, words, { env })).stdout
  }

  /** What was started, each after those that it depends on. */
  get played(): readonly Played[] {
    return startOrder(this.services).flatMap((name) => this.#played.get(name) ?? [])
  }

  get(name: string): Played {
    const found = this.#played.get(name)
    if (found === undefined) throw new Error(`${name} was not started`)
    return found
  }

  async end(): Promise<void> {
    for (const { process } of this.played) await process.end()
  }

  #service(name: string): Service {
    const service = this.services[name]
    if (service === undefined) throw new Error(`there is no service ${name}`)
    return service
  }

  async #start(name: string): Promise<void> {
    if (name === 'postgres') return
    const service = this.#service(name)
    const entrypoint = service.image === 'tenure' ? ENTRYPOINT : []
    const words = [...entrypoint, ...(service.command ?? [])].map((word) => this.#translated(word))
    const line = `cd '${dirname(COMPOSE_FILE)}'; exec ${words.map((word) => `'${word}'`).join(' ')}`
    const environment = await this.#environment(name)
    const process = new SidecarProcess(name, [], { environment, under: ['/bin/sh', '-c', line] })
    this.#played.set(name, { name, service, process })
    if (service.command?.[0] === 'run') await process.listening()
  }

  /** A word of a command, as it is on this machine. */
  #translated(word: string): string {
    if (word === 'node' || word === '/usr/local/bin/node') return globalThis.process.execPath
    return word === '/app/tenure.mjs' ? this.#around.bundle : word
  }

  async #environment(name: string): Promise<Record<string, string>> {
    const { environment = {}, network_mode: network, command } = this.#service(name)
    const given = Object.entries(environment).map(([key, value]) => {
      const text = String(value).replace('@postgres/', `@127.0.0.1:${this.#around.postgresPort}/`)
      return [key, text === 'postgres' && key === 'PGHOST' ? '127.0.0.1' : text]
    })
    const own: Record<string, string> = {
      ...Object.fromEntries(given),
      PGPORT: `${this.#around.postgresPort}`,
    }
    if (command?.[0] === 'run') own.TENURE_LISTEN = `127.0.0.1:${await this.#port(name)}`
    const shared = /^service:(.*)$/.exec(network ?? '')?.[1]
    if (shared !== undefined) {
      own.TENURE_URL = (own.TENURE_URL ?? '').replace(':4040', `:${await this.#port(shared)}`)
    }
    return own
  }

  async #port(name: string): Promise<number> {
    const port = this.#ports.get(name) ?? (await freePort())
    this.#ports.set(name, port)
    return port
  }

  /** Runs its health check until it passes. */
  async #healthy(name: string): Promise<void> {
    if (name === 'postgres') return
    const [kind, ...command] = this.#service(name).healthcheck?.test ?? []
    if (kind !== 'CMD') throw new Error(`the health check of ${name} needs a shell`)
    await until(`${name} is healthy`, () =>
      this.exec(name, command).then(
        () => true,
        () => null,
      ),
    )
  }

  async #completed(name: string): Promise<void> {
    const { process } = this.get(name)
    const code = process.ended ? process.child.exitCode : await process.exited()
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${process.stderr}`)
  }
}

/** Waits for a line of a service that writes lines for people. */
export async function saying({ name, process }: Played, what: string): Promise<void> {
  await until(`${name} says: ${what} (${process.noise.at(-1)})`, () =>
    process.noise.some((line) => line.includes(`${what} (`)) ? true : null,
  )
}
