import { expect, test } from 'vitest'
import { parseDigest, parseReference } from './reference.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`

test.each([
  ['busybox', 'docker.io/library/busybox:latest'],
  ['busybox:1.36', 'docker.io/library/busybox:1.36'],
  ['grafana/loki:3', 'docker.io/grafana/loki:3'],
  ['index.docker.io/library/busybox', 'docker.io/library/busybox:latest'],
  ['localhost/x', 'localhost/x:latest'],
  ['localhost:5000/x/y:z', 'localhost:5000/x/y:z'],
  ['127.0.0.1:5000/busybox', '127.0.0.1:5000/busybox:latest'],
  ['[::1]:5000/busybox', '[::1]:5000/busybox:latest'],
  ['registry.example/a/b/c', 'registry.example/a/b/c:latest'],
  [`busybox@${DIGEST}`, `docker.io/library/busybox@${DIGEST}`],
  [`busybox:1.36@${DIGEST}`, `docker.io/library/busybox@${DIGEST}`],
])('%s is %s', (text, name) => {
  expect(parseReference(text)?.name).toBe(name)
})

test.each(['', 'Busybox', 'a//b', '../x', 'x:', 'x@sha256:12', 'x y', '-x', 'x:tag:tag', `${'a'.repeat(300)}`])(
  '%j is no reference',
  (text) => {
    expect(parseReference(text)).toBeUndefined()
  },
)

test.each(['sha256:../../etc', `sha256:${'a'.repeat(63)}`, `md5:${'a'.repeat(32)}`, 7, undefined])(
  '%j is no digest',
  (text) => {
    expect(parseDigest(text)).toBeUndefined()
  },
)
