import { request } from 'node:https'

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 1024 * 1024

interface GetOptions {
  /** PEM of the authority that signed the other's certificate; those of the machine when absent. */
  readonly ca?: string | undefined
  readonly token?: string | undefined
}

/** Asks a provider: over https alone, not for long, and not for much. */
export async function httpsGet(url: string, { ca, token }: GetOptions): Promise<string> {
  if (!url.startsWith('https://')) throw new Error(`${url} must be reached by https`)
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent: false, timeout: TIMEOUT_MS, headers, ...(ca && { ca }) }, (response) => {
      const parts: Buffer[] = []
      let size = 0
      response.on('data', (part: Buffer) => {
        size += part.length
        if (size > MAX_ANSWER_BYTES) asking.destroy(new Error('the answer is too large'))
        else parts.push(part)
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${url} answered with status ${response.statusCode}`))
        else resolve(Buffer.concat(parts).toString())
      })
    })
    asking.on('timeout', () => asking.destroy(new Error(`${url} did not answer in time`)))
    asking.on('error', reject)
    asking.end()
  })
}
