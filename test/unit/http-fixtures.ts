/** A sidecar whose elections are moved by hand, behind real sockets. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { TestContext } from 'node:test'
import { ClaimDesk, type Standing } from '../../src/claims/desk.ts'
import { WAITS_MOST } from '../../src/claims/limits.ts'
import type {
  Answer,
  Drained,
  HistoryView,
  Resigned,
  Status,
  TenureRecord,
  Transition,
} from '../../src/election/status.ts'
import type { ElectionHandle, Liveness, Readiness, Sidecar } from '../../src/http/elections.ts'
import { createServers, type Servers, type ServersOptions } from '../../src/http/servers.ts'
import { ManualClock } from '../support/clock.ts'

export const SESSION = '0b8f8a52-7d5e-4d0c-9b52-6c1a8a3f9d11'

export const FOLLOWING: Status = {
  election: 'fleet-manager',
  identity: 'pod-a',
  leading: false,
  generation: null,
  session: null,
  actForMs: 0,
  state: 'following',
  reason: 'started',
  sinceMs: Date.UTC(2026, 0, 1),
  revision: 'aaaa-0',
  current: { holder: 'pod-b', generation: 6, expiresInMs: 4_000, observedAgeMs: 12 },
  draining: null,
  store: { kind: 'sqlite', location: 'lease.db', lastSuccessAgoMs: 12, error: null },
}

export const LEADING: Status = {
  ...FOLLOWING,
  leading: true,
  generation: 7,
  session: SESSION,
  actForMs: 9_876.5,
  state: 'leading',
  reason: 'elected',
  current: { holder: 'pod-a', generation: 7, expiresInMs: 12_000, observedAgeMs: 5 },
}

type Listen = (transition: Transition, status: Status) => void

export class FakeElection implements ElectionHandle {
  readonly name: string
  now: Status
  promiseMs = 1_000
  /** How many answers have promised. */
  promises = 0
  fault: Error | null = null
  resigned: Resigned = { accepted: true, generation: null }
  records: readonly TenureRecord[] = []
  historyFault: HistoryView['error'] = null
  readonly holdOffs: (number | null)[] = []
  readonly listeners = new Set<Listen>()
  #revision = 0

  constructor(name = 'fleet-manager', status: Status = FOLLOWING) {
    this.name = name
    this.now = { ...status, election: name }
  }

  status(): Status {
    if (this.fault !== null) throw this.fault
    return this.now
  }

  answer(): Answer {
    const status = this.status()
    if (status.leading) this.promises++
    return { ...status, validForMs: status.leading ? Math.min(this.promiseMs, status.actForMs) : 0 }
  }

  resign(holdOffMs: number | null): Resigned {
    this.holdOffs.push(holdOffMs)
    return this.resigned
  }

  drained(generation: number): Drained {
    const held = this.now.generation
    return held === generation ? { accepted: true, generation } : { accepted: false, current: held }
  }

  async history(): Promise<HistoryView> {
    return {
      source: this.historyFault === null ? 'store' : 'memory',
      error: this.historyFault,
      tenures: this.records,
    }
  }

  onTransition(listen: Listen): () => void {
    this.listeners.add(listen)
    return () => this.listeners.delete(listen)
  }

  /** Goes over to another state, and tells the listeners. Returns the new revision. */
  become(next: Partial<Status>): string {
    const before = this.now
    this.#revision++
    this.now = { ...before, ...next, election: this.name, revision: `aaaa-${this.#revision}` }
    const { revision, state: to, reason, generation } = this.now
    const transition = {
      revision,
      from: before.state,
      to,
      reason,
      generation: generation ?? before.generation,
    }
    for (const listen of [...this.listeners]) listen(transition, this.now)
    return revision
  }
}

export class FakeSidecar implements Sidecar {
  readonly elections: readonly FakeElection[]
  liveness: Liveness = { ok: true, message: 'turning' }
  readiness: Readiness = { ok: true, checks: [{ name: 'store', ok: true, message: 'answered' }] }

  constructor(elections: readonly FakeElection[]) {
    this.elections = elections
  }

  live(): Liveness {
    return this.liveness
  }

  ready(): Readiness {
    return this.readiness
  }
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any
}

export interface Question {
  readonly method?: string
  readonly host?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface Rig {
  readonly election: FakeElection
  readonly sidecar: FakeSidecar
  readonly clock: ManualClock
  readonly servers: Servers
  readonly port: number
  readonly opsPort: number
  /** What was logged as a fault. */
  readonly faults: object[]
  ask(path: string, question?: Question): Promise<Reply>
  askOps(path: string, question?: Question): Promise<Reply>
  /** Begins a question and leaves it open. */
  open(path: string): OpenReply
}

export interface RigOptions {
  readonly elections?: readonly FakeElection[]
  readonly ops?: boolean
  readonly listenHost?: string
  readonly registry?: ServersOptions['registry']
  /** With a claim book, which stands as this says. */
  readonly claims?: () => Standing
}

/** As many as may wait: so that all of those can be granted, and then the book is full. */
const CLAIMS_MOST = WAITS_MOST

const NO_METRICS = { contentType: 'text/plain; version=0.0.4; charset=utf-8', metrics: async () => 'up 1\n' }

export async function startRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const elections = options.elections ?? [new FakeElection()]
  const sidecar = new FakeSidecar(elections)
  const clock = new ManualClock()
  const faults: object[] = []
  const standing = options.claims ?? null
  const servers = createServers({
    sidecar,
    registry: options.registry ?? NO_METRICS,
    clock,
    log: { error: (fields) => faults.push(fields) },
    listen: { host: options.listenHost ?? '127.0.0.1', port: 0 },
    opsListen: options.ops ? { host: '127.0.0.1', port: 0 } : null,
    version: '0.0.0',
    claims: standing && new ClaimDesk({ workspace: 'srv', claimsMost: CLAIMS_MOST, clock, standing }),
  })
  const { api, ops } = await servers.start()
  t.after(() => stopAll(servers, clock))
  const [election] = elections
  if (election === undefined) throw new Error('a rig needs an election')
  const opsPort = ops?.port ?? api.port
  return {
    election,
    sidecar,
    clock,
    servers,
    port: api.port,
    opsPort,
    faults,
    ask: (path, question) => ask(api.port, path, question),
    askOps: (path, question) => ask(opsPort, path, question),
    open: (path) => open(api.port, path),
  }
}

/** Stops, and lets the bound of the stop pass, so that no test waits for an open connection. */
export async function stopAll(servers: Servers, clock: ManualClock): Promise<void> {
  const stopped = servers.stop()
  clock.advance(10_000)
  await stopped
}

export function ask(port: number, path: string, question: Question = {}): Promise<Reply> {
  const { method = 'GET', host = '127.0.0.1', headers = {}, body } = question
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const asking = request({ host, port, path, method, headers, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk) => {
      text += chunk
    })
    response.on('error', reject)
    response.on('end', () => {
      const isJson = response.headers['content-type']?.startsWith('application/json') && text !== ''
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text,
        json: isJson ? JSON.parse(text) : null,
      })
    })
  })
  asking.on('error', reject)
  asking.end(body)
  return promise
}

export interface OpenReply {
  readonly request: ClientRequest
  /** What has come so far. */
  text(): string
  /** Resolves as soon as what has come fulfils the condition. */
  until(condition: (text: string) => boolean): Promise<string>
  /** The end of the answer, or of the connection. */
  readonly closed: Promise<void>
}

function open(port: number, path: string): OpenReply {
  let text = ''
  const waiting = new Set<() => void>()
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const asking = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
    response.setEncoding('utf8')
    response.on('data', (chunk) => {
      text += chunk
      for (const look of [...waiting]) look()
    })
    response.on('close', close)
    response.on('error', () => close())
  })
  asking.on('error', () => close())
  asking.end()
  return {
    request: asking,
    text: () => text,
    closed,
    until: (condition) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!condition(text)) return
          waiting.delete(look)
          resolve(text)
        }
        waiting.add(look)
        look()
      }),
  }
}

const POLL_EVERY_MS = 5
const POLL_MOST_MS = 10_000

/** Waits until a condition of the server's side holds; fails when it does not within ten seconds. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  for (let waitedMs = 0; !condition(); waitedMs += POLL_EVERY_MS) {
    if (waitedMs >= POLL_MOST_MS) throw new Error(`still not so: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS))
  }
}
