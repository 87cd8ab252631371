/** Acquire, refusal, covering and waiting in a claim book of 10,000 claims, against one of 10. */
import { ClaimBook } from '../src/claims/index.ts'
import { median, print } from './rig.ts'

const SMALL = 10
const LARGE = 10_000
const ROUNDS = 15
const CALLS = 2_000
/** Claims in one folder of the workspace. */
const FOLDER = 5_000
const HOLDERS = 100

/** A workspace of files in folders, each held by one of so many holders. */
function filled(claims: number): ClaimBook {
  const book = new ClaimBook({ workspace: 'bench', defaultTtlMs: 3_600_000 })
  for (let i = 0; i < claims; i++) {
    const path = `/srv/part-${Math.floor(i / FOLDER)}/file-${i}.ts`
    if (!book.acquire({ holder: `agent-${i % HOLDERS}`, paths: [path] }).granted) throw new Error(path)
  }
  return book
}

type Call = (book: ClaimBook, i: number) => void

const CALLS_MEASURED: Readonly<Record<string, Call>> = {
  'acquire and release': (book, i) => {
    book.acquire({ holder: 'new', paths: [`/srv/part-${i % 2}/new-${i}.ts`] })
    book.release('new')
  },
  'acquire refused': (book, i) => {
    book.acquire({ holder: 'new', paths: [`/srv/part-0/file-${i % SMALL}.ts/deeper`] })
  },
  refresh: (book, i) => {
    book.acquire({ holder: `agent-${i % SMALL}`, paths: [`/srv/part-0/file-${i % SMALL}.ts`] })
  },
  'covering, own': (book, i) => {
    book.covering(`agent-${i % SMALL}`, `/srv/part-0/file-${i % SMALL}.ts/deeper`)
  },
  'covering, other': (book) => {
    book.covering('new', '/srv/part-0')
  },
  'covering, own above': (book) => {
    book.covering('agent-0', '/srv/part-0')
  },
  'covering, free': (book, i) => {
    book.covering('new', `/srv/part-0/none-${i}.ts`)
  },
}

/** Microseconds for one call. */
function cost(book: ClaimBook, call: Call): number {
  const startMs = performance.now()
  for (let i = 0; i < CALLS; i++) call(book, i)
  return ((performance.now() - startMs) * 1_000) / CALLS
}

export function claims(): void {
  const small = filled(SMALL)
  const large = filled(LARGE)
  for (const [name, call] of Object.entries(CALLS_MEASURED)) {
    const costs: { small: number; large: number }[] = []
    // Two rounds first, so that neither is measured cold; in turns, so that other work on the machine hits both.
    for (let round = -2; round < ROUNDS; round++) {
      const both = { small: cost(small, call), large: cost(large, call) }
      if (round >= 0) costs.push(both)
    }
    const few = median(costs.map((one) => one.small))
    const many = median(costs.map((one) => one.large))
    const ratio = median(costs.map((one) => one.large / one.small))
    print(
      `claims, ${name}: ${few.toFixed(1)} µs at ${SMALL} claims, ${many.toFixed(1)} µs at ${LARGE}: ${ratio.toFixed(2)} ×`,
    )
  }
}
