/** The outcome of reading one value: what it is, or which rule it broke and what to do about it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly rule: string; readonly remedy: string }

export function good<T>(value: T): Parsed<T> {
  return { ok: true, value }
}

export function bad(rule: string, remedy: string): Parsed<never> {
  return { ok: false, rule, remedy }
}
