/** The claim book of a sidecar. */
import type { ClaimDesk, Standing } from '../claims/desk.ts'
import type { Clock } from '../clock/clock.ts'
import type { Values } from '../config/values.ts'
import type { ElectionHandle } from '../http/elections.ts'

/** Every conflict of a request is named: this bounds how many there may be. */
const CLAIMS_MOST = 2_000

const ALWAYS: Standing = { valid: true, tenure: '' }

type Led = Pick<ElectionHandle, 'name' | 'status' | 'onTransition'>

/** Null where no claims are kept. What keeps them is loaded with the first sidecar that does. */
export async function createClaims(
  values: Pick<Values, 'claims' | 'claimsWhileLeading' | 'identity'>,
  elections: readonly Led[],
  clock: Clock,
): Promise<ClaimDesk | null> {
  if (!values.claims) return null
  const { ClaimDesk } = await import('../claims/desk.ts')
  const led = elections.find(({ name }) => name === values.claimsWhileLeading)
  if (led === undefined) {
    const workspace = values.identity
    return new ClaimDesk({ workspace, claimsMost: CLAIMS_MOST, clock, standing: () => ALWAYS })
  }
  const desk = new ClaimDesk({
    workspace: led.name,
    claimsMost: CLAIMS_MOST,
    clock,
    standing: () => standingOf(led),
  })
  // Only so that those who wait hear of it at once.
  led.onTransition(() => desk.judge())
  return desk
}

/** The book stands while its tenure lasts, and ends with it. */
function standingOf(election: Led): Standing {
  const { leading, session, generation, state, reason } = election.status()
  if (leading && session !== null && generation !== null)
    return { valid: true, tenure: `${session} ${generation}` }
  const why = `claims are kept while this instance leads ${JSON.stringify(election.name)}, and it does not (${state}, ${reason}); ask the instance that leads`
  return { valid: false, why }
}
