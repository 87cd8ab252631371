/** An actor in a process of its own, as the demo sees it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { type Clock, longestElapsedMs } from '../../clock/clock.ts'
import type { Contended, Granted, Refused } from '../../election/lease-store.ts'
import type { Fenced } from '../../fencing/fence.ts'
import type { Answer, Decision, Name, Player } from './cast.ts'
import { ACTOR_VARIABLE, type Call, type Reply, type Request } from './messages.ts'
import { isStopped } from './process-state.ts'

/** An answer takes milliseconds, and a start on a busy machine a few seconds. */
const ANSWER_WITHIN_MS = 30_000
const STOP_WITHIN_MS = 5_000
const STOP_POLL_MS = 5

export class ProcessPlayer implements Player {
  readonly #name: Name
  readonly #clock: Clock
  readonly #process: ChildProcess
  readonly #gone = Promise.withResolvers<void>()
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #nextId = 1
  #failure: Error | null = null

  /** Starts the program once more, in whatever way this process was started. */
  constructor(name: Name, clock: Clock) {
    this.#name = name
    this.#clock = clock
    const [, program = ''] = process.argv
    this.#process = spawn(process.execPath, [...process.execArgv, program, 'demo'], {
      env: { ...process.env, [ACTOR_VARIABLE]: name },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // In a session of its own: the terminal's signals, and its Ctrl-Z and fg, reach the demo alone.
      detached: true,
    })
    this.#process.on('message', (message) => this.#take(message as Reply))
    this.#process.once('error', (error) => this.#end(`cannot be started: ${error.message}`))
    this.#process.once('exit', (code, signal) => this.#end(`ended too soon (${signal ?? code})`))
  }

  get pid(): number {
    const { pid } = this.#process
    if (pid === undefined) throw new Error(`the process of ${this.#name} cannot be started`)
    return pid
  }

  async enter(folder: string, others: readonly number[]): Promise<void> {
    await this.#call({ call: 'enter', folder, others })
  }

  acquire(): Promise<Granted | Refused | Contended> {
    return this.#call({ call: 'acquire' })
  }

  check(): Promise<Answer> {
    return this.#call({ call: 'check' })
  }

  write(decision: Decision): Promise<Fenced<number>> {
    return this.#call({ call: 'write', decision })
  }

  async freeze(): Promise<void> {
    this.#process.kill('SIGSTOP')
    const startedAt = this.#clock.now()
    while (!(await isStopped(this.pid))) {
      if (longestElapsedMs(startedAt, this.#clock.now()) > STOP_WITHIN_MS) {
        throw new Error(`${this.#name} does not stand still after SIGSTOP`)
      }
      await new Promise<void>((resolve) => this.#clock.after(STOP_POLL_MS, resolve))
    }
  }

  wake(): void {
    this.#process.kill('SIGCONT')
  }

  /** At once, stopped or not. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }

  /** Resolves when the process has gone. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  async #call<T>(call: Call): Promise<T> {
    if (this.#failure !== null) throw this.#failure
    const id = this.#nextId++
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    const request: Request = { ...call, id }
    // Where it cannot be sent the process has gone, and `exit` says how.
    this.#process.send(request, () => undefined)
    const cancel = this.#clock.after(ANSWER_WITHIN_MS, () =>
      waiting.reject(new Error(`${this.#name} has not answered within ${ANSWER_WITHIN_MS} ms`)),
    )
    try {
      return (await waiting.promise) as T
    } finally {
      cancel()
      this.#waiting.delete(id)
    }
  }

  #take({ id, value, error }: Reply): void {
    const waiting = this.#waiting.get(id)
    if (error === undefined) waiting?.resolve(value)
    else waiting?.reject(new Error(`${this.#name}: ${error}`))
  }

  #end(how: string): void {
    this.#failure = new Error(`the process of ${this.#name} ${how}`)
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure)
    this.#gone.resolve()
  }
}
