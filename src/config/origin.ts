/** Where a value came from. */
export interface Origin {
  readonly kind: 'flag' | 'variable' | 'file' | 'default' | 'derived'
  /** For people: `flag --ttl`, `variable TENURE_TTL`, `file tenure.yaml:3:6`, `default`, `derived`. */
  readonly text: string
}

export const DEFAULT: Origin = { kind: 'default', text: 'default' }
export const DERIVED: Origin = { kind: 'derived', text: 'derived' }

/** One thing that is wrong with the settings. */
export interface Fault {
  /** Where: the text of an origin. */
  readonly where: string
  /** What was found, without secrets, and the rule that it breaks. */
  readonly rule: string
  readonly remedy: string
}

/** Everything that is wrong with the settings, at once. Exit code 2. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ where, rule, remedy }) => `${where}: ${rule}; ${remedy}`).join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}
