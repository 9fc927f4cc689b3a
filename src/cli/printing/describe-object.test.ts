import { expect, test } from 'vitest'
import { describeObject } from './describe-object.ts'

test('fields as words, maps verbatim, nothing empty', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' }, managedFields: [{ manager: 'x' }] },
    spec: { clusterIP: '10.0.0.1', selector: { appName: 'web' }, ports: [{ port: 80, targetPort: 'http' }], empty: {} },
    note: 'two\nlines\n',
  }
  expect(describeObject(object)).toEqual([
    'Name:         web',
    'Namespace:    shop',
    'Labels:',
    '  - app=web',
    'Annotations:  <none>',
    'API version:  v1',
    'Kind:         Service',
    'Spec:',
    '  Cluster IP:  10.0.0.1',
    '  Selector:',
    '    appName:  web',
    '  Ports:',
    '    - Port:         80',
    '      Target Port:  http',
    'Note:',
    '  two',
    '  lines',
  ])
})

test('a secret shows sizes, never values', () => {
  const secret = {
    kind: 'Secret',
    metadata: { name: 's' },
    data: { password: Buffer.from('hunter2').toString('base64') },
  }
  const text = describeObject(secret).join('\n')
  expect(text).toContain('password:  7 bytes')
  expect(text).not.toContain(secret.data.password)
})
