const REDACTED = '***'

/**
 * A URL without the secrets in it. Works on text, because what has to be redacted may not be a valid URL; where
 * it cannot be sure it hides too much.
 */
export function redactUrl(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^:@/?#]*):.*@/is, `$1:${REDACTED}@`)
    .replace(/([?&][^=&]*(?:password|secret|token)[^=&]*=)[^&#]*/gi, `$1${REDACTED}`)
}
