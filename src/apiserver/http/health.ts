import { badRequest } from '../../api/meta/api-error.ts'
import type { Query } from '../registry/query.ts'
import type { Exchange } from './exchange.ts'
import type { PathHandler } from './router.ts'

/** A named part of the server's health. Throws, or resolves to false, when it is not well. */
export interface HealthCheck {
  readonly name: string
  readonly isHealthy: () => boolean | Promise<boolean>
}

const ROOTS = ['/healthz', '/livez', '/readyz'] as const

/** `/livez`, `/readyz?verbose`, `/healthz/ping`: answers "ok", or 500 and what is wrong. */
export function healthPaths(checks: readonly HealthCheck[]): (path: string) => PathHandler | undefined {
  return (path) => {
    const root = ROOTS.find((one) => path === one || path.startsWith(`${one}/`))
    if (!root) return undefined
    const name = path.slice(root.length + 1)
    if (name === '') return (exchange, { query }) => answerAll(exchange, root.slice(1), checks, query)
    const check = checks.find((one) => one.name === name)
    return check && ((exchange) => answerOne(exchange, check))
  }
}

async function answerAll(
  exchange: Exchange,
  root: string,
  checks: readonly HealthCheck[],
  query: Query,
): Promise<void> {
  const excluded = query.get('exclude')
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw badRequest('health is asked with GET')
  const results = await Promise.all(
    checks
      .filter((check) => check.name !== excluded)
      .map(async (check) => ({ name: check.name, ok: await isWell(check) })),
  )
  const ok = results.every((result) => result.ok)
  if (ok && !query.has('verbose')) return text(exchange, 200, 'ok')
  const lines = results.map(({ name, ok }) => (ok ? `[+]${name} ok` : `[-]${name} failed: reason withheld`))
  text(exchange, ok ? 200 : 500, `${lines.join('\n')}\n${root} check ${ok ? 'passed' : 'failed'}\n`)
}

async function answerOne(exchange: Exchange, check: HealthCheck): Promise<void> {
  const ok = await isWell(check)
  text(exchange, ok ? 200 : 500, ok ? 'ok' : `internal server error: ${check.name} failed`)
}

export async function isWell(check: HealthCheck): Promise<boolean> {
  try {
    return await check.isHealthy()
  } catch {
    return false
  }
}

function text(exchange: Exchange, status: number, body: string): void {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
  }
  exchange.send(status, headers, Buffer.from(body))
}
