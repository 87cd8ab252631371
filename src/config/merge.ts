import { DEFAULT, type Fault, type Origin } from './origin.ts'
import { SETTING_NAMES, type SettingName, settingOf, type ValueOf } from './settings.ts'
import type { Source, Written } from './written.ts'

/** The values that won, read, with where each came from. */
export class Merged {
  readonly #written: Map<SettingName, readonly Written[]>
  readonly #faults: Fault[]
  /** What was read already: each fault is noted once. */
  readonly #read = new Map<SettingName, readonly unknown[]>()

  /** Takes each setting from the first of the sources that has it, else from its default. */
  constructor(sources: readonly Source[]) {
    this.#faults = sources.flatMap(({ faults }) => faults)
    const pick = (name: SettingName) =>
      sources.map(({ written }) => written.get(name)).find((values) => values !== undefined) ?? fallback(name)
    this.#written = new Map(SETTING_NAMES.map((name) => [name, pick(name)]))
  }

  /** Every fault found so far, those of the sources first. */
  get faults(): readonly Fault[] {
    return this.#faults
  }

  fault(where: string, rule: string, remedy: string): void {
    this.#faults.push({ where, rule, remedy })
  }

  /** Puts another value in place of what was written. */
  replace(name: SettingName, written: Written): void {
    this.#written.set(name, [written])
    this.#read.delete(name)
  }

  /** Where the value came from; null where nothing set it. */
  origin(name: SettingName): Origin | null {
    return this.#written.get(name)?.[0]?.origin ?? null
  }

  /** Whether flags, variables or a file set it. */
  isSet(name: SettingName): boolean {
    const origin = this.origin(name)
    return origin !== null && origin !== DEFAULT
  }

  /** The value read; null where nothing set it, or where it is wrong and a fault was noted. */
  value<K extends SettingName>(name: K): ValueOf<K> | null {
    return this.list(name)[0] ?? null
  }

  /** All values read, for a setting that takes several. */
  list<K extends SettingName>(name: K): readonly ValueOf<K>[] {
    const known = this.#read.get(name)
    const values = known ?? (this.#written.get(name) ?? []).flatMap((written) => this.#parse(name, written))
    this.#read.set(name, values)
    return values as readonly ValueOf<K>[]
  }

  #parse(name: SettingName, { text, origin }: Written): readonly unknown[] {
    const { type } = settingOf(name)
    const parsed = type.parse(text)
    if (parsed.ok) return [parsed.value]
    // A flag and a variable name the setting; a place in a file does not.
    const where = origin.kind === 'file' ? `${origin.text}: ${name}` : origin.text
    this.fault(`${where} ${type.quote(text)}`, parsed.rule, parsed.remedy)
    return []
  }
}

function fallback(name: SettingName): readonly Written[] {
  const text = settingOf(name).fallback
  return text === null ? [] : [{ text, origin: DEFAULT }]
}
