import { readFile } from 'node:fs/promises'
import type { EtcdEndpointFact, EtcdFacts } from '../facts.ts'
import { askHttps } from './https-status.ts'
import type { Inspected } from './inspected.ts'
import { tlsOffer } from './tls-offer.ts'

/** Undefined if the store is no etcd. */
export async function etcdFacts({ store, etcd, credentials }: Inspected): Promise<EtcdFacts | undefined> {
  const [, scheme, list] = /^(etcds?):\/\/(.+)$/.exec(store) ?? []
  if (list === undefined) return undefined
  const ca = etcd.ca === undefined ? undefined : await readFile(etcd.ca, 'utf8')
  const endpoints = await Promise.all(list.split(',').map((address) => endpointFact(address, scheme === 'etcds')))
  return {
    endpoints,
    hasClientCertificate: etcd.cert !== undefined,
    hasAuthority: scheme === 'etcds' && ca !== undefined,
    isAuthorityShared: ca !== undefined && ca.trim() === credentials.ca?.trim(),
  }
}

async function endpointFact(address: string, isTls: boolean): Promise<EtcdEndpointFact> {
  if (!isTls) return { address, certificate: undefined, acceptsAnyClient: true }
  const [, host = '', port = ''] = /^\[?([^\]]+)\]?:(\d+)$/.exec(address) ?? []
  const [offer, answer] = await Promise.all([tlsOffer(host, Number(port), {}), askHttps(`https://${address}/version`)])
  return { address, certificate: offer?.certificate, acceptsAnyClient: answer !== undefined }
}
