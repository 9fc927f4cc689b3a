import type { Authorizer } from '../authorization/authorizer.ts'
import type { UserInfo } from '../identity.ts'

/** May the user act for a signer: named whole, or all signers of its domain (`example.com/*`)? */
export async function mayActForSigner(
  authorizer: Authorizer,
  user: UserInfo,
  verb: 'approve' | 'sign' | 'attest',
  signerName: string,
): Promise<boolean> {
  const place = { group: 'certificates.k8s.io', resource: 'signers', namespace: '', subresource: '' }
  for (const name of [signerName, `${signerName.split('/')[0]}/*`]) {
    const { allowed } = await authorizer.decide(user, { verb, resource: { ...place, name } })
    if (allowed) return true
  }
  return false
}
