/** The frozen leader on PostgreSQL, with real sidecars: what a plain write does, and what a fenced one does. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Pair } from './pair.ts'

const TTL_MS = 3_000
const ASK_EVERY_MS = 100
const TENURE = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

const url = process.env.DATABASE_URL
if (url === undefined) {
  process.stderr.write(
    'DATABASE_URL is not set: name a PostgreSQL database in which you may create a schema\n',
  )
  process.exit(2)
}
const database = new pg.Client(url)

function tell(who: string, line: string): void {
  process.stdout.write(`${who.padEnd(9)} ${line}\n`)
}

/** The story holds, or the program says where it does not, and fails. */
function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it turned out otherwise: ${what}`)
}

async function report(): Promise<string> {
  const { rows } = await database.query<{ note: string }>(
    'SELECT note FROM fenced_writes_report WHERE id = 1',
  )
  return rows[0]?.note ?? ''
}

async function leads(pair: Pair): Promise<number> {
  const endMs = performance.now() + 3 * TTL_MS
  while (performance.now() < endMs) {
    const answer = await pair.tell({ what: 'ask' })
    if ('leading' in answer && answer.leading && answer.generation !== null) return answer.generation
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
  }
  throw new Error(`it turned out otherwise: ${pair.name} does not lead`)
}

/** One round: the first pair leads and freezes, the second one takes over, the first one wakes and writes. */
async function round(first: Pair, second: Pair, fenced: boolean): Promise<void> {
  const old = await leads(first)
  tell(first.name, `asks: leading, generation ${old}. Then its machine freezes, before it writes.`)
  first.freeze()
  const late = first.tell({ what: 'write', fenced, note: `${first.name}, generation ${old}` })
  const young = await leads(second)
  expect(young > old, `generation ${young} after ${old}`)
  tell(second.name, `asks: leading, generation ${young}; the lease of ${first.name} ran out.`)
  await second.tell({ what: 'write', fenced, note: `${second.name}, generation ${young}` })
  expect((await report()) === `${second.name}, generation ${young}`, 'its report stands')
  tell(second.name, `writes its report.`)
  first.wake()
  const answer = await late
  const standing = await report()
  expect(
    'written' in answer && answer.written !== fenced,
    fenced ? 'the old write is refused' : 'it is written',
  )
  if (!('written' in answer)) return
  if (fenced)
    tell(first.name, `wakes and writes: refused; ${answer.by} leads under generation ${answer.generation}.`)
  else tell(first.name, 'wakes and writes, as it believes that it still leads.')
  expect(standing.startsWith(fenced ? second.name : first.name), `whose report stands: ${standing}`)
  tell('database', `the report is by ${standing}.${fenced ? '' : ' What was newer is lost.'}`)
}

async function main(databaseUrl: string): Promise<void> {
  execFileSync(process.execPath, [TENURE, 'migrate', '--store', databaseUrl], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await database.connect()
  await database.query('DROP TABLE IF EXISTS fenced_writes_report')
  await database.query(`CREATE TABLE fenced_writes_report (id integer PRIMARY KEY, note text)`)
  await database.query(`INSERT INTO fenced_writes_report VALUES (1, '')`)
  const election = `fenced-writes-${process.pid}`
  const flags = ['--store', databaseUrl, '--election', election, '--ttl', `${TTL_MS}ms`]
  const pairs: Pair[] = []
  process.once('exit', () => {
    for (const pair of pairs) pair.end()
  })
  for (const name of ['a', 'b']) pairs.push(await Pair.start(name, flags, databaseUrl))
  const [a, b] = pairs as [Pair, Pair]
  await leads(a)
  tell('', 'First with a plain UPDATE:')
  await round(a, b, false)
  tell('', 'The same again, with the guard in the transaction:')
  await round(b, a, true)
  await database.query('DROP TABLE fenced_writes_report')
  await database.end()
}

process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
await main(url).then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`fenced-writes: ${error.message}\n`)
    process.exit(1)
  },
)
