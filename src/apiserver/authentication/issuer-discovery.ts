import { sendBody } from '../http/respond.ts'
import type { PathHandler, PathTable } from '../request/api-request.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'

const JWKS_PATH = '/openid/v1/jwks'
const MAX_AGE = { 'cache-control': 'public, max-age=3600' }

/** What others need who check service account tokens themselves (OpenID Connect Discovery 1.0). */
export function issuerDiscoveryPaths(tokens: ServiceAccountTokens): PathTable {
  const sendConfiguration: PathHandler = async ({ exchange }) => {
    const { algorithms } = await tokens.publicKeys()
    const document = {
      issuer: tokens.issuer,
      jwks_uri: `${tokens.issuer.replace(/\/$/, '')}${JWKS_PATH}`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: algorithms,
    }
    await sendBody(exchange, 200, 'application/json', Buffer.from(JSON.stringify(document)), [], MAX_AGE)
  }
  const sendKeys: PathHandler = async ({ exchange }) => {
    const { keys } = await tokens.publicKeys()
    await sendBody(exchange, 200, 'application/jwk-set+json', Buffer.from(JSON.stringify({ keys })), [], MAX_AGE)
  }
  return (path) => {
    const trimmed = path.endsWith('/') ? path.slice(0, -1) : path
    if (trimmed === '/.well-known/openid-configuration') return sendConfiguration
    return trimmed === JWKS_PATH ? sendKeys : undefined
  }
}
