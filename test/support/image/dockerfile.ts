/** Reads a Dockerfile as far as tests need it: instructions with their words, stage by stage. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DOCKERFILE = fileURLToPath(new URL('../../../Dockerfile', import.meta.url))

interface Instruction {
  readonly name: string
  readonly text: string
}

export interface Copy {
  /** The stage that it comes from; null for the build context. */
  readonly from: string | null
  readonly sources: readonly string[]
  readonly target: string
}

/** One stage, from FROM to the next. */
export class Stage {
  readonly #instructions: readonly Instruction[]

  constructor(instructions: readonly Instruction[]) {
    this.#instructions = instructions
  }

  /** Names of the instructions, in order. */
  get names(): readonly string[] {
    return this.#instructions.map(({ name }) => name)
  }

  /** What stands behind each instruction of this name. */
  all(name: string): readonly string[] {
    return this.#instructions.filter((one) => one.name === name).map(({ text }) => text)
  }

  /** What stands behind the last instruction of this name, which is the one that counts. */
  last(name: string): string {
    const text = this.all(name).at(-1)
    if (text === undefined) throw new Error(`the stage has no ${name}`)
    return text
  }

  /** An ENTRYPOINT or CMD in the form that needs no shell. */
  words(name: 'ENTRYPOINT' | 'CMD'): readonly string[] {
    return JSON.parse(this.last(name)) as string[]
  }

  get copies(): readonly Copy[] {
    return this.all('COPY').map((text) => {
      const words = text.split(/\s+/)
      const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length) ?? null
      const paths = words.filter((word) => !word.startsWith('--'))
      return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }
    })
  }
}

/** The stages of this project's Dockerfile; what stands before the first FROM is left out. */
export function readStages(): readonly Stage[] {
  const text = readFileSync(DOCKERFILE, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
  const stages: Instruction[][] = []
  for (const line of text.split('\n')) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') stages.push([])
    if (name !== '') stages.at(-1)?.push({ name, text: rest })
  }
  return stages.map((instructions) => new Stage(instructions))
}
