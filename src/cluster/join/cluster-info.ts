import { request } from 'node:https'
import { isIP } from 'node:net'
import type { ConfigMap } from '../../api/generated/core-v1.ts'
import { CLUSTER_INFO_PATH } from '../../api/kinds/core/cluster-info.ts'
import { UserError } from '../user-error.ts'

export interface FetchedInfo {
  readonly data: Readonly<Record<string, string>>
  /** The server's clock, in milliseconds; undefined if it does not tell. */
  readonly serverTime: number | undefined
}

const TIMEOUT = 10_000
const CERTIFICATE_PROBLEM = /CERT|VERIFY|SIGNATURE/
const MAX_BYTES = 1 << 20

/** Reads what the cluster tells everybody. Without `ca` whoever answers is listened to: nothing said is believed yet. */
export async function fetchClusterInfo(server: URL, ca?: string): Promise<FetchedInfo> {
  const { status, body, date } = await get(server, ca)
  // A cluster for one machine alone asks who is there, one that nobody prepared has nothing to tell.
  if (status === 404 || status === 401)
    throw new UserError(`the cluster at ${server.host} lets no machines join`, [
      'Start it for others on its machine: sampan down, then sampan up --detach --listen ADDRESS',
    ])
  const configMap = status === 200 ? parsed(body) : undefined
  if (configMap?.kind !== 'ConfigMap')
    throw new UserError(`what answers at ${server.host} is not the API server of such a cluster (status ${status})`, [
      'Compare the address with what "sampan token create --print-join-command" says on the first machine.',
    ])
  const serverTime = Date.parse(date ?? '')
  return { data: configMap.data ?? {}, serverTime: Number.isNaN(serverTime) ? undefined : serverTime }
}

function parsed(body: string): ConfigMap | undefined {
  try {
    return JSON.parse(body) as ConfigMap
  } catch {
    return undefined
  }
}

function get(server: URL, ca: string | undefined): Promise<{ status: number; body: string; date: string | undefined }> {
  const host = server.hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host,
        port: server.port || 443,
        path: CLUSTER_INFO_PATH,
        headers: { accept: 'application/json', 'user-agent': 'sampan-join' },
        timeout: TIMEOUT,
        agent: false,
        ...(isIP(host) === 0 && { servername: host }),
        ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          body += chunk
          if (body.length > MAX_BYTES) response.destroy(new Error('the answer is too long'))
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body, date: response.headers.date }))
        response.on('error', (error) => reject(unreachable(server, error)))
      },
    )
    asked.on('timeout', () => asked.destroy(new Error('nobody answers')))
    asked.on('error', (error) => reject(unreachable(server, error)))
    asked.end()
  })
}

function unreachable(server: URL, error: Error): UserError {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new UserError(
      `the certificate of the cluster is not for ${server.hostname}`,
      ['Use the address that "sampan token create --print-join-command" prints on the first machine.'],
      { cause: error },
    )
  if (CERTIFICATE_PROBLEM.test(code))
    return new UserError(
      `what answers at ${server.host} has no good certificate of the cluster: ${message}`,
      ['Are the clocks of both machines right? If they are, somebody in between answers for the cluster.'],
      { cause: error },
    )
  return new UserError(
    `${server.host} cannot be reached: ${message || code}`,
    [
      'Is the cluster up there, started with --listen? On its machine: sampan status',
      `Does a firewall let TCP port ${server.port || 443} pass?`,
    ],
    { cause: error },
  )
}
