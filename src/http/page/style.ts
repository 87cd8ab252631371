/** The style of the status page: one column, calm, two schemes. Tones are told by words too, never by colour alone. */
export const STYLE = `
:root {
  --ground: #f6f5f1; --card: #ffffff; --line: #dedbd2; --text: #1d2227; --soft: #5b636b;
  --good: #1f6f54; --wait: #8a5a00; --bad: #a82e25;
  --good-wash: #e6f2ec; --wait-wash: #faf0da; --bad-wash: #fbe7e4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161a; --card: #1a2026; --line: #2f3840; --text: #e4e6e3; --soft: #9aa4ac;
    --good: #7cc9a8; --wait: #e2b35c; --bad: #f0958c;
    --good-wash: #18302a; --wait-wash: #33291a; --bad-wash: #3a2120;
  }
}
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
body {
  max-width: 46rem; margin: 0 auto; padding: 1.25rem 1rem 2rem;
  background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: inherit; text-underline-offset: .2em; }
a:focus-visible { outline: 3px solid var(--good); outline-offset: 2px; border-radius: .3rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
header { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; margin-bottom: 1rem; }
.mark { font-weight: 650; letter-spacing: .02em; }
[data-tone=good] { --tone: var(--good); --wash: var(--good-wash); }
[data-tone=wait] { --tone: var(--wait); --wash: var(--wait-wash); }
[data-tone=bad] { --tone: var(--bad); --wash: var(--bad-wash); }
#line { color: var(--tone); font-size: .9rem; }
#line::before, #past li::before {
  content: ""; display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; background: var(--tone);
}
#line::before { margin-right: .5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; margin-bottom: 1rem; list-style: none; }
nav a {
  display: block; padding: .4rem .8rem; border: 1px solid var(--line); border-radius: .6rem;
  background: var(--card); text-decoration: none; line-height: 1.3;
}
nav a[aria-current] { border-color: var(--text); }
nav span, nav small { display: block; }
nav small { color: var(--soft); }
main { display: grid; gap: 1rem; }
section { padding: 1.1rem 1.25rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--card); min-width: 0; }
#alarm {
  padding: .8rem 1.25rem; border-radius: .9rem; border: 1px solid var(--bad);
  background: var(--bad-wash); color: var(--bad); font-weight: 600;
}
#hero { padding: 1.5rem 1.25rem 1.25rem; border-color: var(--tone); background: var(--wash); }
.over { color: var(--soft); }
.over b { color: var(--text); font-weight: 600; }
h1 { font-size: clamp(2rem, 9vw, 3.25rem); line-height: 1.15; font-weight: 650; letter-spacing: -.01em; }
#verb { min-height: 1.5em; color: var(--tone); font-weight: 600; }
#track { height: .5rem; margin: 1.1rem 0 1rem; border-radius: .25rem; background: var(--line); overflow: hidden; }
#bar { height: 100%; background: var(--tone); transform-origin: 0 50%; transform: scaleX(0); }
h1, dd, b, nav span, nav small { unicode-bidi: isolate; }
h2 { margin-bottom: .5rem; font-size: .95rem; font-weight: 600; color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5rem 1rem; }
dt { color: var(--soft); font-size: .85rem; }
.figures dd { font-size: 1.35rem; font-weight: 600; line-height: 1.3; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.pair dl { display: grid; gap: .45rem; }
.pair dd[data-tone] { color: var(--tone); font-weight: 600; }
#past { padding: 0; list-style: none; }
#past li { position: relative; padding: 0 0 .9rem 1.6rem; --tone: var(--soft); }
#past li[data-now] { --tone: var(--good); }
#past li::before { position: absolute; left: 0; top: .5rem; z-index: 1; }
#past li::after { content: ""; position: absolute; left: .25rem; top: .6rem; bottom: -.6rem; width: .1rem; background: var(--line); }
#past li:last-child::after { display: none; }
#past li.gap::before { display: none; }
#past li.gap::after { background: none; border-left: .1rem dashed var(--wait); width: 0; top: .1rem; bottom: -.3rem; }
#past li.gap, #past p, #past-note { color: var(--soft); font-size: .9rem; }
#past b { font-weight: 600; }
#past span { color: var(--soft); }
.stale section { border-style: dashed; }
.stale #past li[data-now] { --tone: var(--soft); }
table { width: 100%; border-collapse: collapse; }
caption { margin-bottom: 1rem; text-align: left; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .85rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 34rem) { .pair { grid-template-columns: minmax(0, 1fr); } section { padding: 1rem; } }
@media (prefers-reduced-motion: no-preference) { #hero { transition: background-color .3s, border-color .3s; } }
`
