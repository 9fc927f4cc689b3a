import { expect, test } from 'vitest'
import { parseChallenges } from './authorization.ts'
import { endpointsOf, type RegistryOptions } from './endpoints.ts'

test.each<[string, RegistryOptions, string[]]>([
  ['docker.io', {}, ['https://registry-1.docker.io']],
  ['registry.example', {}, ['https://registry.example']],
  ['localhost:5000', {}, ['http://localhost:5000', 'https://localhost:5000']],
  [
    '127.0.0.1:5000',
    { loopback: '172.30.0.1' },
    ['http://127.0.0.1:5000', 'https://127.0.0.1:5000', 'http://172.30.0.1:5000'],
  ],
  ['10.0.0.5:5000', { insecure: ['10.0.0.5'] }, ['https://10.0.0.5:5000', 'http://10.0.0.5:5000']],
  ['10.0.0.5:5001', { insecure: ['10.0.0.5:5000'] }, ['https://10.0.0.5:5001']],
  [
    'docker.io',
    { mirrors: { 'docker.io': ['http://mirror:80', 'other'] } },
    ['http://mirror:80', 'https://other', 'https://registry-1.docker.io'],
  ],
])('%s with %j is asked at %j', (domain, options, bases) => {
  expect(endpointsOf(domain, options).map(({ base }) => base)).toEqual(bases)
})

test.each([
  ['Basic realm="x"', [{ scheme: 'basic', parameters: { realm: 'x' } }]],
  [
    'Bearer realm="https://auth/token",service="a, b",scope="repository:x:pull,push"',
    [
      {
        scheme: 'bearer',
        parameters: { realm: 'https://auth/token', service: 'a, b', scope: 'repository:x:pull,push' },
      },
    ],
  ],
  [
    'Bearer realm="r", Basic realm=plain',
    [
      { scheme: 'bearer', parameters: { realm: 'r' } },
      { scheme: 'basic', parameters: { realm: 'plain' } },
    ],
  ],
  ['', []],
  ['"=,', []],
])('challenge %s', (header, expected) => {
  expect(parseChallenges(header)).toEqual(expected)
})
