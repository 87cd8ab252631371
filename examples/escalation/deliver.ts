import type { Channel } from './ladder.ts'

/** What goes out. The token is an idempotency key for channels that know such a thing. */
export interface Page {
  readonly token: string
  readonly alertId: string
  readonly title: string
  readonly step: number
  readonly person: string
}

/** `refused`: the channel said no. `unknown`: it may have been delivered, or not. */
export interface Delivery {
  readonly outcome: 'delivered' | 'refused' | 'unknown'
  readonly detail: string | null
}

/** Sends a page once, and waits for no longer than the channel's time. Never rejects. */
export async function deliver(page: Page, { url, timeoutMs }: Channel): Promise<Delivery> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': page.token },
      body: JSON.stringify(page),
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.body?.cancel()
    return deliveryOf(response.status)
  } catch (error) {
    // Also a connection that broke: nobody can tell how far the page got.
    return { outcome: 'unknown', detail: String((error as Error).cause ?? error) }
  }
}

function deliveryOf(status: number): Delivery {
  if (status < 300) return { outcome: 'delivered', detail: null }
  // Behind an error of the server's own the page may have gone out.
  return { outcome: status < 500 ? 'refused' : 'unknown', detail: `HTTP ${status}` }
}
