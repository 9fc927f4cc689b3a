import { expect, it } from 'vitest'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { AdmissionChain } from './chain.ts'
import { admitConnection, type ConnectAttempt } from './connect.ts'
import type { AdmissionRequest } from './plugin.ts'

const user = { name: 'ann', groups: [] }
const attempt = (kind: ConnectAttempt['kind'], subresource: string, query: string): ConnectAttempt => ({
  kind,
  subresource,
  namespace: 'default',
  name: 'x',
  user,
  query: new URLSearchParams(query),
})

it.each<[attempt: ConnectAttempt, draft: object]>([
  [
    attempt(podKind, 'exec', 'command=ls&command=-l&stdin=true&tty=0&container=c'),
    { kind: 'PodExecOptions', apiVersion: 'v1', command: ['ls', '-l'], stdin: true, tty: false, container: 'c' },
  ],
  [attempt(podKind, 'attach', 'stdout=1'), { kind: 'PodAttachOptions', apiVersion: 'v1', stdout: true }],
  [attempt(serviceKind, 'proxy', 'path=/a'), { kind: 'ServiceProxyOptions', apiVersion: 'v1', path: '/a' }],
])('connecting is asked about: %#', async (connection, draft) => {
  const seen: AdmissionRequest[] = []
  const plugin = { name: 'p', admit: (request: AdmissionRequest) => void seen.push(request) }
  await admitConnection(new AdmissionChain([plugin]), connection)
  expect(seen).toMatchObject([{ operation: 'CONNECT', name: 'x', namespace: 'default', user, draft }])
})

it('what plugins note of it is told the audit log', async () => {
  const notes: string[] = []
  const plugin = { name: 'p', validate: (request: AdmissionRequest) => request.annotate?.('by', request.subresource) }
  const annotate = (key: string, value: string) => notes.push(`${key} ${value}`)
  await admitConnection(new AdmissionChain([plugin]), { ...attempt(podKind, 'exec', ''), annotate })
  expect(notes).toEqual(['by exec'])
})

it('and can be refused', async () => {
  const plugin = {
    name: 'p',
    validate() {
      throw new Error('no')
    },
  }
  const chain = new AdmissionChain([plugin])
  await expect(admitConnection(chain, attempt(podKind, 'attach', ''))).rejects.toThrow('no')
})
