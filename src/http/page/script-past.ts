/** The timeline of handovers, the newest first. */
export const PAST = `
const TENURES_SHOWN = 20
/** The newest tenure, where its end is not told, and the elements that follow it; null where it has ended. */
let lasting = null

function isOpen(tenure) {
  return tenure.until === null && tenure.reason === null
}

function lengthOf(tenure, untilMs) {
  return 'for ' + duration(untilMs - Date.parse(tenure.from))
}

/** An end that nobody wrote down is not made up. */
function endOf(tenure) {
  if (isOpen(tenure)) return 'its end is not written down yet'
  if (tenure.until === null) return reasonOf(tenure.reason)
  return lengthOf(tenure, Date.parse(tenure.until)) + ' \u00b7 ' + reasonOf(tenure.reason)
}

function tenureItem(tenure, index) {
  const item = document.createElement('li')
  const title = make('b', tenure.holder ?? 'somebody')
  const generation = make('span', ' generation ' + tenure.generation)
  const from = make('time', timeOf(tenure.from))
  from.dateTime = tenure.from
  const end = make('span', endOf(tenure))
  const line = document.createElement('p')
  line.append('from ', from, ', ', end)
  if (index === 0 && isOpen(tenure)) lasting = { item, end, tenure }
  item.append(title, generation, line)
  return item
}

/** What lies between two tenures: how long nobody led, and whether generations went by unseen. */
function gapItem(newer, older) {
  const parts = []
  if (newer.leaderlessMs !== null) parts.push(duration(newer.leaderlessMs) + ' without a leader')
  const missed = older === undefined ? 0 : newer.generation - older.generation - 1
  if (missed === 1) parts.push('generation ' + (newer.generation - 1) + ' was not seen')
  if (missed > 1) parts.push(missed + ' generations were not seen')
  if (parts.length === 0) return null
  const item = make('li', parts.join(' \u00b7 '))
  item.className = 'gap'
  return item
}

function showPast({ tenures, error }) {
  const newest = tenures.toReversed()
  lasting = null
  const items = newest.slice(0, TENURES_SHOWN).flatMap((tenure, index) => {
    const gap = gapItem(tenure, newest[index + 1])
    const item = tenureItem(tenure, index)
    return gap === null ? [item] : [item, gap]
  })
  at('past').replaceChildren(...items)
  growLasting()
  const notes = []
  if (newest.length === 0) notes.push('No tenure was seen yet.')
  if (newest.length > TENURES_SHOWN) notes.push('The newest ' + TENURES_SHOWN + ' of ' + newest.length + '.')
  if (error) notes.push('Only what this process saw: the history in the store could not be read (' + error.message + ').')
  put(at('past-note'), notes.join(' '))
  at('past-note').hidden = notes.length === 0
}

/** Whether the newest tenure still lasts is the report's to say: who ended by force does not write that down. */
function growLasting() {
  const entry = reports.get(chosen)
  if (lasting === null || entry === undefined || silence !== null) return
  const { report } = entry
  const { item, end, tenure } = lasting
  const acts = report.leading || report.draining !== null || isHeld(report)
  const lasts = acts && report.current?.generation === tenure.generation
  item.toggleAttribute('data-now', lasts)
  put(end, lasts ? lengthOf(tenure, Date.now()) : endOf(tenure))
}
`
