/** Reads a configuration file. Loaded only when there is one: most sidecars are told all by flags and variables. */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from 'yaml'
import type { Fault, Origin } from './origin.ts'
import { isSettingName, KEYS, type SettingName, settingOf } from './settings.ts'
import { didYouMean } from './suggest.ts'
import type { Source, Written } from './written.ts'

/** A configuration file is a page, not a book. */
export const FILE_MOST_BYTES = 256 * 1024
/** What is wrong with a file is told up to here: then it is another kind of file. */
const FAULTS_MOST = 20

/** Reads the text of a configuration file. What is wrong is listed with its line and column. */
export function readConfigFile(path: string, text: string): Source {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true })
  return new FileReader(path, lines).read(document)
}

class FileReader {
  readonly #path: string
  readonly #lines: LineCounter
  readonly #faults: Fault[] = []
  readonly #written = new Map<SettingName, readonly Written[]>()

  constructor(path: string, lines: LineCounter) {
    this.#path = path
    this.#lines = lines
  }

  read(document: Document.Parsed): Source {
    for (const { message, pos } of [...document.errors, ...document.warnings]) {
      this.#fault(pos[0], `this is not YAML: ${message}`, 'correct it')
    }
    const { contents } = document
    if (this.#faults.length === 0 && contents !== null) this.#readRoot(contents)
    return { written: this.#written, faults: this.#faults }
  }

  #readRoot(contents: Node): void {
    if (isMap(contents)) {
      for (const pair of contents.items) {
        if (this.#faults.length < FAULTS_MOST) this.#readPair(pair as Pair<Node, Node | null>)
      }
    } else if (!this.#isNull(contents)) {
      this.#fault(startOf(contents), 'the file is not a mapping', 'write one "key: value" a line')
    }
  }

  #readPair({ key, value }: Pair<Node, Node | null>): void {
    const at = startOf(key)
    const name = isScalar(key) ? String(key.value) : ''
    if (!isSettingName(name) || !KEYS.includes(name)) {
      const rule = `there is no key ${JSON.stringify(name)}${didYouMean(name, KEYS)}`
      this.#fault(at, rule, 'remove it, or correct its name; see "tenure config schema"')
    } else if (value === null || this.#isNull(value)) {
      this.#fault(at, `${name} has no value`, 'give it one, or remove the key')
    } else {
      this.#readValue(name, value)
    }
  }

  #readValue(name: SettingName, value: Node): void {
    const listed = isSeq(value) && settingOf(name).many === true
    const nodes = listed ? (value.items as Node[]) : [value]
    if (nodes.length === 0)
      this.#fault(startOf(value), `${name} is an empty list`, 'name one, or remove the key')
    const written = nodes.flatMap((node) => this.#scalar(name, node))
    if (written.length > 0) this.#written.set(name, written)
  }

  /** One value; none, and a fault, where it is not a scalar of a type that the setting takes. */
  #scalar(name: SettingName, node: Node): readonly Written[] {
    const at = startOf(node)
    const { scalars, placeholder } = settingOf(name).type
    const kind = isScalar(node) ? typeof node.value : 'something else'
    if (!scalars.some((scalar) => scalar === kind)) {
      const wanted = scalars.includes('string')
        ? 'a text: put it in quotes'
        : `a plain ${scalars.join(' or ')}`
      this.#fault(
        at,
        `the value of ${name} is not of its type`,
        `write ${wanted} (${placeholder || 'true or false'})`,
      )
      return []
    }
    const scalar = node as Scalar
    // A number by its digits as written: reading it would already have rounded a large one.
    const text = kind === 'number' ? (scalar.source ?? String(scalar.value)) : String(scalar.value)
    return [{ text, origin: this.#originAt(at) }]
  }

  #isNull(node: Node): boolean {
    return isScalar(node) && node.value === null
  }

  #fault(offset: number, rule: string, remedy: string): void {
    this.#faults.push({ where: this.#originAt(offset).text, rule, remedy })
  }

  #originAt(offset: number): Origin {
    const { line, col } = this.#lines.linePos(offset)
    return { kind: 'file', text: `file ${this.#path}:${line}:${col}` }
  }
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0
}
