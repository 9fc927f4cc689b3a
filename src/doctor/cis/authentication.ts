/** 3: how people authenticate, and what is written down. */
import { SECRET_TYPE } from '../../api/meta/well-known.ts'
import { miss, passIf, unknown } from '../control.ts'
import { advised, some } from './rows.ts'

const OIDC = 'sampan up --authentication-config FILE'
const POLICY = 'sampan up --audit-policy FILE'
/** What a policy should not leave out. */
const KEY_RESOURCES = [
  'secrets',
  'configmaps',
  'tokenreviews',
  'pods/exec',
  'pods/portforward',
  'pods/proxy',
  'services/proxy',
]

export const authentication = [
  advised('3.1.1', 'People do not authenticate with client certificates', OIDC, ({ objects: { userCertificates } }) =>
    passIf(
      userCertificates.length === 0,
      userCertificates.length === 0
        ? 'no client certificate was requested for a user'
        : `issued: ${some(userCertificates)}`,
    ),
  ),
  advised('3.1.2', 'People do not authenticate with tokens of service accounts', OIDC, ({ objects }) => {
    const tokens = objects.secrets.filter(({ type }) => type === SECRET_TYPE.serviceAccountToken)
    const names = tokens.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    return passIf(
      names.length === 0,
      names.length === 0 ? 'no Secret holds a lasting token' : `lasting tokens: ${some(names)}`,
    )
  }),
  advised('3.1.3', 'People do not authenticate with bootstrap tokens', 'sampan token delete TOKEN', ({ objects }) => {
    const tokens = objects.secrets.filter(({ type }) => type === SECRET_TYPE.bootstrapToken)
    return passIf(tokens.length === 0, `${tokens.length} bootstrap tokens`)
  }),
  advised('3.2.1', 'There is an audit policy', POLICY, ({ audit }) =>
    audit
      ? passIf(audit.rules.length > 0, `the policy has ${audit.rules.length} rules`)
      : miss('there is no audit policy'),
  ),
  advised('3.2.2', 'The audit policy covers secrets, tokens and ways into pods', POLICY, ({ audit }) => {
    if (!audit) return miss('there is no audit policy')
    const levelOf = (resource: string) =>
      audit.rules.find(({ resources }) => resources.length === 0 || resources.includes(resource))?.level ?? 'None'
    const missing = KEY_RESOURCES.filter((resource) => levelOf(resource) === 'None')
    if (missing.length > 0) return miss(`not audited: ${missing.join(', ')}`)
    return unknown(`${KEY_RESOURCES.join(', ')} are audited; whether that is enough is for a person to judge`)
  }),
]
