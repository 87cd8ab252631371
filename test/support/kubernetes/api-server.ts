/**
 * A real API server for tests: etcd and kube-apiserver on loopback, with RBAC and service accounts. No controller
 * runs, so nothing is scheduled, and what a controller would make is made by hand.
 */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../postgres.ts'
import { requireBinary } from './binaries.ts'
import { ServerProcess } from './server-process.ts'

const READY_TIMEOUT_MS = 60_000
const READY_POLL_MS = 100
const REQUEST_TIMEOUT_MS = 20_000
const ADMIN_TOKEN = 'tenure-tests-admin'
const ISSUER = 'https://tenure.tests.invalid'

export interface ApiReply {
  readonly status: number
  readonly body: unknown
}

/** Starts a new, empty cluster; `flags` are added to those of the API server. */
export async function startApiServer(flags: readonly string[] = []): Promise<ApiServer> {
  const home = await mkdtemp(join(tmpdir(), 'tenure-kubernetes-'))
  const server = new ApiServer(home, [await freePort(), await freePort(), await freePort()], flags)
  await server.prepare()
  await server.start()
  return server
}

export class ApiServer {
  readonly home: string
  readonly port: number
  /** Of somebody who may do everything. */
  readonly adminToken = ADMIN_TOKEN
  readonly #etcd: ServerProcess
  readonly #api: ServerProcess

  constructor(
    home: string,
    [port, etcdPort, peerPort]: readonly [number, number, number],
    flags: readonly string[],
  ) {
    this.home = home
    this.port = port
    const clientUrl = `http://127.0.0.1:${etcdPort}`
    const peerUrl = `http://127.0.0.1:${peerPort}`
    this.#etcd = new ServerProcess(requireBinary('etcd'), [
      `--data-dir=${join(home, 'etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      '--log-level=error',
    ])
    const key = join(home, 'service-accounts.pem')
    this.#api = new ServerProcess(requireBinary('kube-apiserver'), [
      `--etcd-servers=${clientUrl}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      `--cert-dir=${join(home, 'certificates')}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      '--endpoint-reconciler-type=none',
      `--service-account-issuer=${ISSUER}`,
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--authorization-mode=RBAC',
      `--token-auth-file=${join(home, 'tokens.csv')}`,
      ...flags,
    ])
  }

  /** What the API server last wrote to its log. */
  get log(): string {
    return this.#api.log
  }

  async prepare(): Promise<void> {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    await writeFile(join(this.home, 'service-accounts.pem'), privateKey)
    await writeFile(join(this.home, 'tokens.csv'), `${ADMIN_TOKEN},admin,admin,"system:masters"\n`)
    await mkdir(join(this.home, 'certificates'))
  }

  /** Starts what does not run; again after `stop` or `kill`: same ports, same data. Resolves when it serves. */
  async start(): Promise<void> {
    if (!this.#etcd.running) this.#etcd.start()
    this.#api.start()
    const giveUpAt = performance.now() + READY_TIMEOUT_MS
    while (!(await this.#isReady())) {
      if (!this.#api.running || performance.now() > giveUpAt) {
        throw new Error(`the API server did not start:\n${this.#etcd.log}\n${this.#api.log}`)
      }
      await sleep(READY_POLL_MS)
    }
  }

  /** Ends the API server as an administrator would; etcd goes on. */
  stop(): Promise<void> {
    return this.#api.stop()
  }

  /** Kills the API server; etcd goes on. */
  kill(): Promise<void> {
    return this.#api.kill()
  }

  /** Freezes the API server: connections stay open and nothing answers. */
  pause(): void {
    this.#api.pause()
  }

  resume(): void {
    this.#api.resume()
  }

  /** Ends everything and removes its data. */
  async dispose(): Promise<void> {
    await this.#api.kill()
    await this.#etcd.kill()
    await rm(this.home, { recursive: true, force: true, maxRetries: 3 })
  }

  /** The certificate that the API server made for itself, which is its own authority. */
  ca(): Promise<string> {
    return readFile(join(this.home, 'certificates', 'apiserver.crt'), 'utf8')
  }

  /** The key of that certificate: a proxy of ours may speak in the server's place. */
  key(): Promise<string> {
    return readFile(join(this.home, 'certificates', 'apiserver.key'), 'utf8')
  }

  /** Asks the API server, as an administrator unless `token` says otherwise. */
  async request(method: string, path: string, body?: unknown, token = ADMIN_TOKEN): Promise<ApiReply> {
    const ca = await this.ca()
    const patch = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    return new Promise((resolve, reject) => {
      const request = https.request(
        {
          host: '127.0.0.1',
          port: this.port,
          method,
          path,
          ca,
          agent: false,
          headers: { authorization: `Bearer ${token}`, 'content-type': patch },
          signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => {
            text += chunk
          })
          response.once('error', reject)
          response.once('end', () => resolve({ status: response.statusCode ?? 0, body: parse(text) }))
        },
      )
      request.once('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** The beginning of an answer that goes on, as that of a watch; asked as an administrator. Must be destroyed. */
  async stream(path: string): Promise<IncomingMessage> {
    const ca = await this.ca()
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const request = https.get({ host: '127.0.0.1', port: this.port, path, ca, agent: false, headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    if (response.statusCode === 200) return response
    response.destroy()
    throw new Error(`GET ${path}: ${response.statusCode}`)
  }

  /** As `request`, for what has to succeed. */
  async must(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.request(method, path, body)
    if (reply.status >= 200 && reply.status < 300) return reply.body
    throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await this.request('GET', '/readyz')).status === 200
    } catch (error) {
      // Not listening yet, or its certificate is not made.
      if ((error as NodeJS.ErrnoException).code !== undefined) return false
      throw error
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}
