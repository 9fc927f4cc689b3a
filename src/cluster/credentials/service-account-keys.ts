import type { ClusterCertificates } from '../certificates.ts'

const PRIVATE_KEY = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]*-----END (?:EC |RSA )?PRIVATE KEY-----\n?/g

/**
 * The keys in `service-account.key`: the first one signs tokens, all of them are believed. To change keys without a
 * break, put a new one in front of the old, and take the old away when its tokens have ended.
 */
export const serviceAccountKeys =
  (certificates: Promise<Pick<ClusterCertificates, 'serviceAccountKey'>>) => async (): Promise<readonly string[]> => {
    const { serviceAccountKey } = await certificates
    return serviceAccountKey.match(PRIVATE_KEY) ?? []
  }
