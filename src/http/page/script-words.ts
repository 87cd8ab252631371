/** How the status page writes durations, times and reasons, and how it writes into the page. */
export const WORDS = `
const MINUTE_MS = 60000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const REASONS = new Map([
  ['started', 'it started'],
  ['elected', 'the store granted a tenure'],
  ['deadline', 'no renewal succeeded in time'],
  ['lost', 'the store says that the tenure is over'],
  ['resigned', 'it was asked to step down'],
  ['drained', 'the application said that its work has stopped'],
  ['lapsed', 'the drain time ended, and the lease was left to run out'],
  ['unhealthy', 'the application is not well'],
  ['shutdown', 'the process stopped'],
  ['fault', 'a fault in Tenure'],
  ['expired', 'the lease ran out'],
  ['released', 'the lease was released'],
  ['seen', 'seen to have ended'],
  ['unknown', 'nobody said how it ended'],
])

function reasonOf(reason) {
  return REASONS.get(reason) ?? String(reason)
}

function tenths(ms) {
  return (Math.floor(Math.max(ms, 0) / 100) / 10).toFixed(1) + ' s'
}

function duration(ms) {
  if (ms < 1000) return Math.max(Math.round(ms), 0) + ' ms'
  if (ms < MINUTE_MS) return tenths(ms)
  const [large, largeMs, small, smallMs] =
    ms < HOUR_MS ? ['min', MINUTE_MS, 's', 1000]
    : ms < DAY_MS ? ['h', HOUR_MS, 'min', MINUTE_MS]
    : ['d', DAY_MS, 'h', HOUR_MS]
  return Math.floor(ms / largeMs) + ' ' + large + ' ' + Math.floor((ms % largeMs) / smallMs) + ' ' + small
}

function twoDigits(number) {
  return String(number).padStart(2, '0')
}

/** By the clock of the one who looks; with the day unless it is today. */
function timeOf(iso) {
  const date = new Date(iso)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
  if (date.toDateString() === new Date().toDateString()) return time
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-') + ' ' + time
}

function at(id) {
  const element = document.getElementById(id)
  if (element === null) throw new Error('the page has no ' + id)
  return element
}

/** Writes only what changed, so that nothing is read out twice. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text
}

function tone(element, name) {
  if (element.dataset.tone !== name) element.dataset.tone = name
}

function make(name, text) {
  const element = document.createElement(name)
  element.textContent = text
  return element
}
`
