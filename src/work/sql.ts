/** SQL with values that can only ever become parameters. */

/** A piece of SQL. Made by the tag `sql`. */
export class Sql {
  readonly texts: readonly string[]
  readonly values: readonly unknown[]

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts
    this.values = values
  }
}

/**
 * A piece of SQL, as a tag: what stands in `${…}` becomes a parameter, or is put in where it is such a piece itself.
 * The row is called `item`.
 */
export function sql(texts: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  return new Sql(texts, values)
}

/** For a column: so many milliseconds from when the row is written, on the server's clock. */
export function inMs(ms: number): Sql {
  if (!Number.isFinite(ms)) {
    throw new TypeError(`inMs(${ms}): a length of time is a number of milliseconds; give one`)
  }
  return sql`pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => ${ms}::pg_catalog.float8 / 1000)`
}

/** The parameters of one statement, in the order in which they are bound. */
export class Parameters {
  readonly values: unknown[] = []

  /** Adds a value and returns what stands for it. */
  bind(value: unknown): string {
    if (value === undefined) {
      throw new TypeError('a value is undefined, which PostgreSQL does not know; give null, or leave it out')
    }
    this.values.push(value)
    return `$${this.values.length}`
  }

  /** The text of a piece, its values bound. */
  render({ texts, values }: Sql): string {
    return texts.map((text, i) => text + (i < values.length ? this.#one(values[i]) : '')).join('')
  }

  #one(value: unknown): string {
    return value instanceof Sql ? this.render(value) : this.bind(value)
  }
}
