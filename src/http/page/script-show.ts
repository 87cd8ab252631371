/** Puts what is known into the page, again and again, as time runs down. */
export const SHOW = `
const chosen = document.body.dataset.chosen
const links = new Map()
for (const link of document.links) if (link.dataset.election !== undefined) links.set(link.dataset.election, link)
const elections = [chosen, ...Array.from(links.keys()).filter((name) => name !== chosen)]
/** The last report of each election, when it came on the steady clock, and whether the lease is over. */
const reports = new Map()
/** Why no report comes any more; null while they come. */
let silence = null
/** The most that was ever left of the lease: the whole width of the bar. */
let wholeMs = 1
let told = null

/** A lease is over once the store was looked at after it had run out, and showed no other. */
function keep(report) {
  const atMs = performance.now()
  const before = reports.get(report.election)
  const ranOut = report.current !== null && report.current.expiresInMs === 0
  const ranOutMs = ranOut ? before?.ranOutMs ?? atMs : null
  const isOver = ranOut && atMs - report.current.observedAgeMs > ranOutMs
  reports.set(report.election, { report, atMs, ranOutMs, isOver })
}

function show() {
  const entry = reports.get(chosen)
  if (entry === undefined && silence === null) return
  const agoMs = entry === undefined ? null : performance.now() - entry.atMs
  showVerdict(silence === null ? verdict(entry, agoMs) : unknownNow(entry))
  showSilence(agoMs)
  if (entry !== undefined) {
    showLease(entry.report, agoMs)
    showStore(entry.report, agoMs)
    showOwn(entry.report)
  }
  showLinks()
  growLasting()
}

/** Before the page goes out of sight: what it says must not be read again when it comes back, later. */
function forget() {
  reports.clear()
  tone(at('hero'), 'wait')
  put(at('who'), '\u2026')
  put(at('verb'), 'asking')
  document.title = 'Resting \u00b7 ' + chosen
}

function showVerdict(now) {
  tone(at('hero'), now.tone)
  put(at('who'), now.who)
  put(at('verb'), now.within === undefined ? now.verb : now.verb + ' within ' + now.within)
  if (silence === null) announce(now)
}

/** Said to those who listen, once for each change. The figures that run down are not. */
function announce(now) {
  const { current } = reports.get(chosen).report
  const news = now.who + ' ' + now.verb
  const full = current !== null && now.tone === 'good' ? news + ', generation ' + current.generation : news
  if (told !== null && told !== full) put(at('news'), chosen + ': ' + full)
  told = full
  document.title = now.who + ' \u00b7 ' + chosen
}

function showSilence(agoMs) {
  const alarm = at('alarm')
  const line = at('line')
  tone(line, silence === null ? 'good' : 'bad')
  put(line, silence === null ? 'live' : agoMs === null ? 'no report' : 'last report ' + duration(Math.floor(agoMs / 1000) * 1000) + ' ago')
  document.body.classList.toggle('stale', silence !== null)
  if (silence === null) {
    alarm.hidden = true
    return
  }
  document.title = 'No answer \u00b7 ' + chosen
  put(alarm, silence)
  alarm.hidden = false
}

function showLease(report, agoMs) {
  const { current } = report
  const left = leftMs(report, agoMs)
  if (current !== null && current.expiresInMs !== null) {
    wholeMs = Math.max(wholeMs, current.expiresInMs + current.observedAgeMs)
  }
  const held = isHeld(report) && silence === null
  at('bar').style.transform = 'scaleX(' + (held && left !== null ? Math.min(left / wholeMs, 1) : 0) + ')'
  put(at('left'), held ? (left === null ? 'not told' : tenths(left)) : '\u2013')
  put(at('generation'), current === null ? '\u2013' : String(current.generation))
  put(at('age'), current === null ? 'no record' : tenths(current.observedAgeMs + agoMs))
}

function showStore({ store }, agoMs) {
  const health = at('store-health')
  put(at('store-kind'), store.kind)
  put(at('store-place'), store.location)
  put(at('store-answer'), store.lastSuccessAgoMs === null ? 'none yet' : tenths(store.lastSuccessAgoMs + agoMs) + ' ago')
  if (silence !== null) {
    tone(health, 'bad')
    put(health, 'not known')
  } else if (store.error !== null) {
    tone(health, 'bad')
    put(health, store.error.kind + ': ' + store.error.message)
  } else {
    tone(health, store.lastSuccessAgoMs === null ? 'wait' : 'good')
    put(health, store.lastSuccessAgoMs === null ? 'not asked yet' : 'answers')
  }
}

function showOwn(report) {
  put(at('election'), report.election)
  put(at('identity'), report.identity)
  put(at('state'), silence === null ? report.state : 'not known, was ' + report.state)
  put(at('reason'), reasonOf(report.reason))
  put(at('since'), timeOf(report.since))
}

function showLinks() {
  for (const [name, link] of links) {
    const entry = reports.get(name)
    if (entry === undefined) continue
    const now = verdict(entry, performance.now() - entry.atMs)
    const brief = now.tone === 'good' ? now.who : now.who + ' ' + now.verb
    put(link.querySelector('[data-holder]'), silence === null ? brief : 'not known')
  }
}
`
