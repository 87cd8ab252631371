/** Hears of each change at once, asks for a report again and again, and knows when nobody answers. */
export const LIVE = `
const ASK_EVERY_MS = 800
const ASK_AGAIN_MS = 200
const AFTER_END_MS = 60
/** Others may write down later how a tenure ended. */
const PAST_EVERY_MS = 15000
const PAST_TRIES_MOST = 5
/** With the time above, silence is told within two seconds. */
const ANSWER_MOST_MS = 1200
const LISTEN_AGAIN_MS = 2000
const calm = matchMedia('(prefers-reduced-motion: reduce)')
const SHOW_EVERY_MS = calm.matches ? 1000 : 100
let stream = null
let round = 0
let nextAsk = 0
let nextListen = 0
let nextShow = 0
let pastOf = null
let pastAsked = 0
let pastTries = 0
let pastDueMs = 0

async function fetchJson(path) {
  const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MOST_MS) })
  const body = await response.json()
  if (response.ok) return body
  throw new Refusal(body.error.message)
}

class Refusal extends Error {}

function reportPath(election) {
  return '/v1/leadership?after=none&wait=0ms&election=' + encodeURIComponent(election)
}

/** Sooner where the lease ends sooner: the sidecar then looks into the store, too. */
function nextInMs() {
  const entry = reports.get(chosen)
  const left = entry === undefined || silence !== null ? null : leftMs(entry.report, performance.now() - entry.atMs)
  if (left === null) return ASK_EVERY_MS
  return left === 0 ? ASK_AGAIN_MS : Math.min(left + AFTER_END_MS, ASK_EVERY_MS)
}

/** An event that comes, or another round that begins, makes the answers of this one old: they are dropped. */
async function ask() {
  clearTimeout(nextAsk)
  const mine = ++round
  try {
    for (const election of elections) {
      const report = await fetchJson(reportPath(election))
      if (mine !== round) return
      heard(report)
    }
  } catch (error) {
    if (mine !== round) return
    silence = error instanceof Refusal
      ? 'This sidecar gives no report: ' + error.message
      : 'This sidecar does not answer. What stands below is what it last said; somebody else may lead by now.'
    show()
  }
  nextAsk = setTimeout(ask, nextInMs())
}

function heard(report) {
  keep(report)
  if (report.election !== chosen) return
  const back = silence !== null
  silence = null
  const mark = [report.revision, report.current?.generation, report.current?.holder].join(' ')
  if (back || mark !== pastOf) {
    pastOf = mark
    pastTries = 0
    pastDueMs = 0
  }
  if (performance.now() >= pastDueMs) askPast()
  show()
}

async function askPast() {
  const mine = ++pastAsked
  pastDueMs = Infinity
  let isWhole = false
  try {
    const past = await fetchJson('/v1/history?election=' + encodeURIComponent(chosen))
    if (mine !== pastAsked) return
    showPast(past)
    isWhole = !isBehind(past.tenures)
  } catch {
    if (mine !== pastAsked) return
  }
  const soon = !isWhole && pastTries++ < PAST_TRIES_MOST
  pastDueMs = soon ? 0 : performance.now() + PAST_EVERY_MS
}

/** A tenure may be told before its begin, or the end of the last one, is written: asked again with the next report. */
function isBehind(tenures) {
  const current = reports.get(chosen)?.report.current
  const newest = tenures.at(-1)
  if (newest === undefined || !current?.holder) return false
  return newest.generation < current.generation || tenures.slice(0, -1).some(isOpen)
}

function listen() {
  clearTimeout(nextListen)
  stream?.close()
  stream = new EventSource('/v1/events?election=' + encodeURIComponent(chosen))
  stream.addEventListener('leadership', (event) => {
    heard(JSON.parse(event.data))
    ask()
  })
  stream.addEventListener('error', () => {
    ask()
    if (stream.readyState === EventSource.CLOSED) nextListen = setTimeout(listen, LISTEN_AGAIN_MS)
  })
}

/** A page that nobody sees gives its connections back: a browser has six for one host, over all its tabs. */
function rest() {
  round++
  for (const timer of [nextAsk, nextListen]) clearTimeout(timer)
  clearInterval(nextShow)
  stream?.close()
  forget()
}

function wake() {
  clearInterval(nextShow)
  nextShow = setInterval(show, SHOW_EVERY_MS)
  listen()
  ask()
}

at('live').hidden = false
put(at('election'), chosen)
document.addEventListener('visibilitychange', () => (document.hidden ? rest() : wake()))
if (document.hidden) rest()
else wake()
`
