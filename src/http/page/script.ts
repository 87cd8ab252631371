/**
 * The script of the status page, in parts that share one scope. Plain JavaScript: it is served as it stands here.
 *
 * It asks only for reports and events, which promise nothing and do not count as the application asking. What it
 * shows is put into the page as text, never as markup. Its clocks and timers are the browser's, and decide nothing
 * but when to ask and what to draw.
 */
import { LIVE } from './script-live.ts'
import { PAST } from './script-past.ts'
import { SHOW } from './script-show.ts'
import { VERDICT } from './script-verdict.ts'
import { WORDS } from './script-words.ts'

/** A module: its names are its own. */
export const SCRIPT = [WORDS, VERDICT, PAST, SHOW, LIVE].join('')
