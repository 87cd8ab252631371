/** A loopback TCP proxy with the faults of real networks. */
import { once } from 'node:events'
import { createConnection, createServer, type Server, type Socket } from 'node:net'

/**
 * - `pass`: forwards both ways.
 * - `swallow`: accepts and keeps everything open, forwards nothing: a half-open connection.
 * - `drop-replies`: what the client sends arrives, what the server answers does not.
 */
export type ProxyMode = 'pass' | 'swallow' | 'drop-replies'

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /** Forwards nothing any more, whatever the mode. */
  lost: boolean
}

export class TcpProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #mode: ProxyMode = 'pass'
  #delayMs = 0
  #port = 0

  /** Connections accepted so far. */
  connections = 0
  /** Bytes received from clients and from the server so far, forwarded or not. */
  readonly bytes = { fromClients: 0, fromServer: 0 }

  private constructor(targetPort: number) {
    this.#server = createServer((client) => this.#accept(client, targetPort))
  }

  /** Listens on a free loopback port and forwards to `targetPort` on loopback. */
  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    const address = proxy.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy got no port')
    proxy.#port = address.port
    return proxy
  }

  get port(): number {
    return this.#port
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#pairs.size
  }

  /** Applies to open connections as well as to new ones. */
  set mode(mode: ProxyMode) {
    this.#mode = mode
  }

  /** Holds everything back for this long, both ways. */
  set delayMs(delayMs: number) {
    this.#delayMs = delayMs
  }

  /** From now on the connections that are open forward nothing: as if a firewall forgot them. New ones pass. */
  forgetOpen(): void {
    for (const pair of this.#pairs) pair.lost = true
  }

  /** Resets every open connection. */
  cut(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #accept(client: Socket, targetPort: number): void {
    this.connections += 1
    const pair: Pair = { client, upstream: createConnection(targetPort, '127.0.0.1'), lost: false }
    this.#pairs.add(pair)
    client.on('data', (chunk) => {
      this.bytes.fromClients += chunk.length
      if (this.#mode !== 'swallow' && !pair.lost) this.#forward(pair.upstream, chunk)
    })
    pair.upstream.on('data', (chunk) => {
      this.bytes.fromServer += chunk.length
      if (this.#mode === 'pass' && !pair.lost) this.#forward(client, chunk)
    })
    for (const [socket, other] of [
      [client, pair.upstream],
      [pair.upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#pairs.delete(pair)
        // A half-open connection does not tell that its other end has gone.
        if ((this.#mode !== 'swallow' && !pair.lost) || socket === client) other.destroy()
      })
    }
  }

  #forward(to: Socket, chunk: Uint8Array): void {
    const write = () => {
      if (to.writable) to.write(chunk)
    }
    if (this.#delayMs === 0) write()
    else setTimeout(write, this.#delayMs)
  }
}
