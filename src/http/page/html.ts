/** The markup of the status page, and, for browsers without scripts, the state at the moment it was sent. */
import type { LeadershipHint } from '../leadership.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='6' fill='none' stroke='%23378a6c' stroke-width='3'/%3E%3Ccircle cx='8' cy='8' r='2' fill='%23378a6c'/%3E%3C/svg%3E"

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Labels come from other hosts through the store: they are text, whatever they look like. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** Which elections this sidecar runs. The script reads their names here. */
function chooser(names: readonly string[], chosen: string): string {
  const items = names.map((name) => {
    const current = name === chosen ? ' aria-current="page"' : ''
    return `<li><a href="?election=${encodeURIComponent(name)}" data-election="${escaped(name)}"${current}><span>${escaped(name)}</span> <small data-holder>&nbsp;</small></a></li>`
  })
  const hidden = names.length === 1 ? ' hidden' : ''
  return `<nav aria-label="Elections"${hidden}><ul>${items.join('')}</ul></nav>`
}

function holderNow(current: LeadershipHint['current']): string {
  if (current === null || current.holder === null) return 'nobody'
  if (current.expiresInMs === 0) return `nobody: the lease of ${current.holder} ran out`
  return `${current.holder}, generation ${current.generation}`
}

function summaryRow({ election, state, current, store }: LeadershipHint): string {
  const health = store.error === null ? 'answers' : `${store.error.kind}: ${store.error.message}`
  const cells = [election, holderNow(current), state, health]
  return `<tr>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`
}

function summary(reports: readonly LeadershipHint[], date: Date): string {
  return `<table>
<caption>What the stores had last shown at ${date.toISOString()}. This page stays live with scripts; without them, load it again.</caption>
<thead><tr><th scope="col">Election</th><th scope="col">Holder</th><th scope="col">This instance</th><th scope="col">Store</th></tr></thead>
<tbody>${reports.map(summaryRow).join('')}</tbody>
</table>`
}

function fact(label: string, id: string): string {
  return `<div><dt>${label}</dt><dd id="${id}">&ndash;</dd></div>`
}

const LIVE = `<main id="live" hidden>
<p id="alarm" role="alert" hidden></p>
<section id="hero" aria-labelledby="who">
<p class="over">Election <b id="election"></b></p>
<h1 id="who">&hellip;</h1>
<p id="verb">asking</p>
<div id="track"><div id="bar"></div></div>
<dl class="figures">
${fact('Generation', 'generation')}
${fact('Lease left', 'left')}
${fact('Record\u2019s age', 'age')}
</dl>
</section>
<div class="pair">
<section aria-labelledby="own-title">
<h2 id="own-title">This instance</h2>
<dl>
${fact('Identity', 'identity')}
${fact('State', 'state')}
${fact('Because', 'reason')}
${fact('Since', 'since')}
</dl>
</section>
<section aria-labelledby="store-title">
<h2 id="store-title">Store</h2>
<dl>
${fact('Kind', 'store-kind')}
${fact('Place', 'store-place')}
${fact('Health', 'store-health')}
${fact('Last answer', 'store-answer')}
</dl>
</section>
</div>
<section aria-labelledby="past-title">
<h2 id="past-title">Handovers</h2>
<ol id="past"></ol>
<p id="past-note">No tenure was seen yet.</p>
</section>
</main>
<p id="news" class="unseen" aria-live="polite"></p>`

export function layPage(reports: readonly LeadershipHint[], chosen: string, date: Date): string {
  const names = reports.map(({ election }) => election)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(chosen)} &middot; Tenure</title>
<link rel="icon" href="${ICON}">
<style>${STYLE}</style>
</head>
<body data-chosen="${escaped(chosen)}">
<header><p class="mark">Tenure</p><p id="line" data-tone="wait">&nbsp;</p></header>
${chooser(names, chosen)}
${LIVE}
<noscript>${summary(reports, date)}</noscript>
<footer><p>A report for people, late by any time. It is no promise: applications ask
<code>GET /v1/leadership</code>. <a href="/v1/history?election=${encodeURIComponent(chosen)}">History as JSON</a> &middot;
<a href="/openapi.json">API</a></p></footer>
<script type="module">${SCRIPT}</script>
</body>
</html>
`
}
