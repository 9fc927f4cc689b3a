import type { ConfigMap, Namespace, Pod } from '../../api/generated/core-v1.ts'
import type { ServerFacts } from '../facts.ts'
import { accessFacts, admissionFacts } from './access.ts'
import { askHttps } from './https-status.ts'
import type { Inspected } from './inspected.ts'
import { listenersOf } from './process.ts'
import { tlsOffer } from './tls-offer.ts'

const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const SERVICE_ACCOUNTS = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true }
/** The lifetime that kubelets ask for: upstream used to make a year of it. */
const ASKED_SECONDS = 3607
const UNTRUSTED = {
  isTrusted: false,
  weak: [],
  certificate: { subject: '', issuer: '', notBefore: 0, notAfter: 0 },
}

export async function serverFacts(
  inspected: Inspected,
  namespaces: readonly Namespace[],
  pods: readonly Pod[],
): Promise<ServerFacts> {
  const { api, url, credentials, pid } = inspected
  const { hostname, port } = new URL(url)
  const [anonymous, known, profiles, tls, flags, listeners, access, admission, got, without] = await Promise.all([
    askHttps(`${url}/api`),
    askHttps(`${url}/api`, credentials),
    askHttps(`${url}/debug/pprof/`, credentials),
    tlsOffer(hostname, Number(port), credentials),
    flagsOf(inspected),
    listenersOf(pid),
    accessFacts(api),
    admissionFacts(inspected),
    tokenLifetime(inspected, pods),
    namespacesWithoutRootCa(inspected, namespaces),
  ])
  return {
    anonymousStatus: anonymous?.status ?? 0,
    certificateStatus: known?.status ?? 0,
    profilingStatus: profiles?.status ?? 0,
    tls: tls ?? UNTRUSTED,
    flags,
    otherListeners: listeners.filter((one) => !one.startsWith('127.') && !one.endsWith(`:${port}`)),
    access,
    admission,
    tokenLifetime: { asked: ASKED_SECONDS, got },
    namespacesWithoutRootCa: without,
  }
}

async function flagsOf({ api }: Inspected): Promise<Record<string, string>> {
  const text = await api.raw({ path: '/flagz' }).catch(() => '')
  const lines = text.split('\n').flatMap((line) => {
    const [, name, value] = /^([a-z-]+)=(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name, value ?? ''] as const]
  })
  return Object.fromEntries(lines)
}

/** For a pod if there is one: tokens of pods are those that upstream extends. */
async function tokenLifetime({ api }: Inspected, pods: readonly Pod[]): Promise<number> {
  const pod = pods.find(({ status }) => status?.phase === 'Running')
  const boundObjectRef = pod && { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid }
  const answer = (await api.call({
    verb: 'create',
    resource: SERVICE_ACCOUNTS,
    namespace: pod?.metadata.namespace ?? 'default',
    name: pod?.spec?.serviceAccountName ?? 'default',
    subresource: 'token',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: ASKED_SECONDS, ...(boundObjectRef && { boundObjectRef }) },
    },
  })) as { status?: { token?: string } }
  const [, claims = ''] = (answer.status?.token ?? '').split('.')
  const { exp = 0, iat = 0 } = JSON.parse(Buffer.from(claims, 'base64url').toString() || '{}') as Record<string, number>
  return exp - iat
}

async function namespacesWithoutRootCa(
  { api, credentials }: Inspected,
  namespaces: readonly Namespace[],
): Promise<string[]> {
  const found = namespaces
    .filter(({ status }) => status?.phase !== 'Terminating')
    .map(async ({ metadata: { name: namespace = '' } }) => {
      const map = (await api
        .call({ verb: 'get', resource: CONFIG_MAPS, namespace, name: 'kube-root-ca.crt' })
        .catch(() => undefined)) as ConfigMap | undefined
      return map?.data?.['ca.crt']?.trim() === credentials.ca?.trim() ? [] : [namespace]
    })
  return (await Promise.all(found)).flat()
}
