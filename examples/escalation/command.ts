/** What the commands of the example share: their usage line, and where the database is. */

const USAGE_EXIT = 2

/** What `parse` reads of the flags. Shows the usage line and ends the process for `--help`, and for what is no flag. */
export function flagsOr<Flags>(usage: string, parse: () => Flags): Flags {
  if (process.argv.includes('--help')) {
    process.stdout.write(`usage: ${usage}\n`)
    process.exit(0)
  }
  try {
    return parse()
  } catch (error) {
    return endWith(`${(error as Error).message}\nusage: ${usage}`)
  }
}

/** @throws TypeError where a flag is no whole number of at least `least`. */
export function whole(flag: string, text: string, least: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new TypeError(`--${flag} ${JSON.stringify(text)}: it is a whole number from ${least}; give one`)
}

/** The database, of the environment. Ends the process where none is named. */
export function databaseUrl(): string {
  const url = process.env.DATABASE_URL ?? ''
  if (url !== '') return url
  return endWith('DATABASE_URL is not set: set it, for example to postgres://postgres@127.0.0.1/postgres')
}

function endWith(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(USAGE_EXIT)
}
