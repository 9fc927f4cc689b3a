import { expect, it } from 'vitest'
import { apiServerFlags, flagz } from './flags.ts'

it('says what is off and what is on', () => {
  expect(apiServerFlags({}, ['NamespaceLifecycle', 'ResourceQuota'])).toEqual({
    'anonymous-auth': 'false',
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NamespaceLifecycle,ResourceQuota',
    'service-account-extend-token-expiration': 'false',
    'service-account-lookup': 'true',
  })
  const policy = { kind: 'Policy', apiVersion: 'audit.k8s.io/v1', rules: [] }
  const settings = {
    authentication: { anonymous: true, staticTokens: [{ token: 'a', user: { name: 'joe', groups: [] } }] },
    audit: { policy, log: { path: '/var/log/audit.log', maxDays: 7 } },
    encryption: { resources: [{ resources: ['secrets'] }, { resources: ['configmaps'] }] },
  }
  expect(apiServerFlags(settings as never, [])).toMatchObject({
    'anonymous-auth': 'true',
    'audit-log-maxage': '7',
    'audit-log-maxbackup': '10',
    'audit-log-maxsize': '100',
    'audit-log-path': '/var/log/audit.log',
    'encryption-provider-config': 'secrets,configmaps',
    'token-auth-file': '1 tokens',
  })
})

it('prints a line for each flag, by name', () => {
  expect(flagz({ b: '2', a: '1' })).toBe('kube-apiserver flagz\n\na=1\nb=2\n')
})
