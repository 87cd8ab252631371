/** Who leads, as far as a report tells, some time after it came. */
export const VERDICT = `
/** What is left of the lease now; null where the store does not tell. */
function leftMs(report, agoMs) {
  const { current } = report
  if (current === null || current.expiresInMs === null) return null
  return Math.max(current.expiresInMs - agoMs, 0)
}

/** By the word of the report alone: the page that counts down to nothing does not know that nothing was renewed. */
function isHeld({ current }) {
  return current !== null && current.holder !== null && current.expiresInMs !== 0
}

/** The one to show, what to say of it, and how grave that is. The label of the store alone is no word on who acts. */
function verdict({ report, isOver }, agoMs) {
  const { current, store, draining, identity } = report
  if (report.leading) {
    return { tone: 'good', who: identity, verb: 'leads, and is this instance' }
  }
  if (draining !== null) {
    const within = tenths(draining.leaseRemainingMs - agoMs)
    return { tone: 'wait', who: identity, verb: 'drains: its work has to end', within }
  }
  if (isHeld(report)) {
    if (current.holder === identity) {
      return { tone: 'wait', who: identity, verb: 'holds the lease, and does not act here' }
    }
    return { tone: 'good', who: current.holder, verb: 'leads, as the store last showed' }
  }
  if (store.error !== null || store.lastSuccessAgoMs === null) {
    return { tone: 'bad', who: 'Not known', verb: 'the store does not answer' + formerly(report) }
  }
  if (current === null || current.holder === null) {
    return { tone: 'wait', who: 'Nobody', verb: current === null ? 'has ever led' : 'leads now' }
  }
  // A follower looks again just after a lease should have ended, and mostly finds it renewed.
  return isOver
    ? { tone: 'wait', who: 'Nobody', verb: 'leads now: the lease of ' + current.holder + ' ran out' }
    : { tone: 'wait', who: current.holder, verb: 'held the lease, and it was not seen to be renewed yet' }
}

function formerly({ current }) {
  if (current === null || current.holder === null) return ''
  return '; it last named ' + current.holder
}

/** For a page whose sidecar is gone: no name stands there as if it were so now. */
function unknownNow(entry) {
  if (entry === undefined) return { tone: 'bad', who: 'Not known', verb: 'the sidecar does not answer' }
  const last = verdict(entry, 0)
  return { tone: 'bad', who: 'Not known', verb: 'at the last report: ' + last.who + ' ' + last.verb }
}
`
