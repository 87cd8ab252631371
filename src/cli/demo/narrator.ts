import type { Clock } from '../../clock/clock.ts'

/** Who does or says something; `clock` and `data` are what everybody sees. */
export type Who = 'a' | 'b' | 'clock' | 'data'

const WHO_WIDTH = 7
const INDENT = '  '
const COLOURS: Readonly<Record<Who | 'title' | 'detail', string>> = {
  a: '\x1b[36m',
  b: '\x1b[33m',
  clock: '\x1b[35m',
  data: '\x1b[32m',
  title: '\x1b[1m',
  detail: '\x1b[2m',
}
const PLAIN = '\x1b[0m'

export interface Telling {
  readonly out: { write(text: string): unknown }
  readonly clock: Clock
  readonly colour: boolean
  /** Time to read each thing that happens; 0 for none. */
  readonly pauseMs: number
}

/** Tells the story line by line, with who does it in one column. */
export class Narrator {
  readonly #telling: Telling

  constructor(telling: Telling) {
    this.#telling = telling
  }

  /** Text that nobody says. */
  text(...lines: readonly string[]): void {
    for (const line of lines) this.#line(line)
  }

  scene(title: string): void {
    this.#line('')
    this.#line(this.#paint('title', title))
  }

  /** One thing that happens, what came of it, and time to read it. `details` stand below. */
  async tell(who: Who, what: string, ...details: readonly string[]): Promise<void> {
    const [name, space] = [who, ' '.repeat(WHO_WIDTH - who.length)]
    this.#line(`${INDENT}${this.#paint(who, name)}${space}${what}`)
    const indent = INDENT + ' '.repeat(WHO_WIDTH)
    for (const detail of details) this.#line(`${indent}${this.#paint('detail', detail)}`)
    const { clock, pauseMs } = this.#telling
    if (pauseMs > 0) await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
  }

  #line(text: string): void {
    this.#telling.out.write(`${text}\n`)
  }

  #paint(colour: keyof typeof COLOURS, text: string): string {
    return this.#telling.colour ? `${COLOURS[colour]}${text}${PLAIN}` : text
  }
}
