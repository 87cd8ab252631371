import { type LeaseStore, type StoreContext, StoreError, type StoreSettings } from './store.ts'

type Open = (settings: StoreSettings, context: StoreContext) => Promise<LeaseStore>

/** Each store is loaded when it is first used: nobody pays for the clients of the others. */
const STORES: Readonly<Record<string, () => Promise<{ open: Open }>>> = {
  sqlite: () => import('./sqlite/store.ts'),
  postgres: () => import('./postgres/store.ts'),
  postgresql: () => import('./postgres/store.ts'),
  kubernetes: () => import('./kubernetes/store.ts'),
}

/**
 * Opens the store that the URL names. A store out of reach opens all the same, and says so at each request.
 *
 * @throws StoreError `misconfigured` where the URL can never work as it is.
 */
export async function openStore(settings: StoreSettings, context: StoreContext): Promise<LeaseStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(settings.url)?.[1]?.toLowerCase()
  const load = scheme === undefined ? undefined : STORES[scheme]
  if (load === undefined) {
    throw new StoreError(
      'misconfigured',
      `store ${JSON.stringify(scheme ?? settings.url)} is not known: use sqlite:PATH, postgres://HOST/DATABASE, postgres: (the PG* variables) or kubernetes://NAMESPACE`,
      { cause: null },
    )
  }
  const { open } = await load()
  return open(settings, context)
}
