import { describe, expect, test } from 'vitest'
import { at, textAt } from '../tools/json.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** What the conformance suite asks of admission policies, in our own words; see docs/conformance.md. */

const NAMESPACE = 'conformance-policies'
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1'
const server = useCluster(NAMESPACE)

const placeOf = (type: string) => `/apis/apps/v1/namespaces/${NAMESPACE}/${type}`
const labels = { app: 'web' }
const workload = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
})
const create = (type: string, name: string, replicas: number) =>
  server.api.create(placeOf(type), workload(name, replicas))

/** A policy for Deployments that are created in our namespace, and its binding. */
async function bind(which: 'Validating' | 'Mutating', name: string, spec: object, binding: object = {}): Promise<void> {
  const path = (kind: string) => `${REGISTRATION}/${which.toLowerCase()}admissionpolic${kind}`
  const resourceRules = [
    { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
  ]
  const matchLabels = { 'kubernetes.io/metadata.name': NAMESPACE }
  const matchConstraints = { resourceRules, namespaceSelector: { matchLabels } }
  expectStatus(await server.api.create(path('ies'), { metadata: { name }, spec: { matchConstraints, ...spec } }), 201)
  const bound = { metadata: { name }, spec: { policyName: name, ...binding } }
  expectStatus(await server.api.create(path('ybindings'), bound), 201)
}
async function unbind(which: 'validating' | 'mutating', name: string): Promise<void> {
  for (const kind of ['ybindings', 'ies'])
    expectStatus(await server.api.delete(`${REGISTRATION}/${which}admissionpolic${kind}/${name}`), 200)
}
const DENY = { validationActions: ['Deny'] }

describe('a validating policy', () => {
  test('checks the Deployments it is for, and nothing else', async () => {
    await bind(
      'Validating',
      'replicated',
      {
        validations: [
          // A number is no text: this message fails, and the expression itself is told.
          { expression: 'object.spec.replicas > 1', messageExpression: "'got ' + object.spec.replicas" },
          { expression: `namespaceObject.metadata.name == '${NAMESPACE}'`, message: 'wrong namespace' },
        ],
      },
      DENY,
    )
    const denied = expectStatus(await create('deployments', 'alone', 1), 422)
    expect(textAt(denied.object, 'message')).toContain(
      "'replicated' denied request: failed expression: object.spec.replicas > 1",
    )
    expectStatus(await create('deployments', 'together', 2), 201)
    expectStatus(await create('replicasets', 'alone', 1), 201)
    await unbind('validating', 'replicated')
    expectStatus(await create('deployments', 'alone', 1), 201)
  })

  test('refers to variables', async () => {
    const variables = [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'oddReplicas', expression: 'variables.replicas % 2 == 1' },
    ]
    const validations = [{ expression: 'variables.replicas > 1' }, { expression: 'variables.oddReplicas' }]
    await bind('Validating', 'odd', { variables, validations }, DENY)
    const one = expectStatus(await create('deployments', 'one', 1), 422)
    expect(textAt(one.object, 'message')).toContain('failed expression: variables.replicas > 1')
    const two = expectStatus(await create('deployments', 'two', 2), 422)
    expect(textAt(two.object, 'message')).toContain('failed expression: variables.oddReplicas')
    expectStatus(await create('deployments', 'three', 3), 201)
    expectStatus(await create('replicasets', 'one', 1), 201)
    await unbind('validating', 'odd')
  })
})

describe('a mutating policy', () => {
  const mutation = (expression: string) => ({
    failurePolicy: 'Fail',
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
  })

  test('changes a Deployment as its expression says', async () => {
    await bind('Mutating', 'many', mutation('Object{spec: Object.spec{replicas: 1337}}'))
    expect(at(expectStatus(await create('deployments', 'marked', 2), 201).object, 'spec.replicas')).toBe(1337)
    expect(at(expectStatus(await create('replicasets', 'marked', 2), 201).object, 'spec.replicas')).toBe(2)
    await unbind('mutating', 'many')
    expect(at(expectStatus(await create('deployments', 'unmarked', 2), 201).object, 'spec.replicas')).toBe(2)
  })

  test('adds annotations to a Deployment', async () => {
    const annotations = 'Object.metadata{annotations: {"my-foo-annotation": "myAnnotationValue"}}'
    await bind('Mutating', 'annotated', mutation(`Object{metadata: ${annotations}}`))
    const made = expectStatus(await create('deployments', 'annotated', 2), 201).object
    expect(at(made, 'metadata.annotations')).toEqual({ 'my-foo-annotation': 'myAnnotationValue' })
    expect(at(made, 'spec.replicas')).toBe(2)
    await unbind('mutating', 'annotated')
  })
})
