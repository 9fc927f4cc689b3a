import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  ValidatingAdmissionPolicyBindingSpec,
  ValidatingAdmissionPolicySpec,
  Validation,
} from '../../../api/generated/admissionregistration-v1.ts'
import { configMapKind } from '../../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../../api/kinds/core/namespace.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'
import { addValidatingPolicy, CONFIG_MAPS } from './policies.fixture.ts'

let plane: AdmissionServer
beforeEach(async () => {
  plane = await startAdmissionServer()
})
afterEach(() => plane[Symbol.asyncDispose]())

const maps = (namespace = 'default') => plane.client.resource(configMapKind).namespace(namespace)
const create = (data: Record<string, string>, name = 'c') =>
  maps()
    .create({ metadata: { name, labels: { color: 'blue' } }, data })
    .then(
      () => 'allowed',
      (error: Error) => error.message,
    )
const refusal = (why: string) =>
  `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: ${why}`

describe('validations', () => {
  it.each<[why: string, validation: Validation, expected: string]>([
    ['holds', { expression: 'object.data.a == "1"' }, 'allowed'],
    ['does not', { expression: 'object.data.a == "2" ' }, refusal('failed expression: object.data.a == "2"')],
    ['with a message', { expression: 'false', message: 'never' }, refusal('never')],
    ['with a message made', { expression: 'false', messageExpression: '"a is " + object.data.a' }, refusal('a is 1')],
    ['with one that fails', { expression: 'false', message: 'no', messageExpression: 'object.data.z' }, refusal('no')],
    [
      'fails',
      { expression: 'object.data.z == "1"' },
      refusal(`expression 'object.data.z == "1"' resulted in error: no such key: z`),
    ],
    [
      'knows the request',
      { expression: 'request.operation == "CREATE" && request.userInfo.username == "admin"' },
      'allowed',
    ],
    ['knows the namespace', { expression: 'namespaceObject.metadata.name == "default"' }, 'allowed'],
    ['knows what was before', { expression: 'oldObject == null' }, 'allowed'],
    ['knows rights', { expression: 'authorizer.path("/metrics").check("get").allowed()' }, 'allowed'],
    [
      'knows rights of others',
      { expression: 'authorizer.serviceAccount("default", "x").group("").resource("secrets").check("list").allowed()' },
      refusal(
        'failed expression: authorizer.serviceAccount("default", "x").group("").resource("secrets").check("list").allowed()',
      ),
    ],
    ['reads variables', { expression: 'variables.twice == "11"' }, 'allowed'],
    [
      'reads variables that fail',
      { expression: 'variables.broken' },
      refusal(
        `expression 'variables.broken' resulted in error: composited variable "broken" fails to evaluate: no such key: z`,
      ),
    ],
    [
      'runs out',
      {
        expression:
          '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))',
      },
      'cost limit',
    ],
  ])('that %s', async (_, validation, expected) => {
    const variables = [
      { name: 'once', expression: 'object.data.a' },
      { name: 'twice', expression: 'variables.once + variables.once' },
      { name: 'broken', expression: 'object.data.z == "1"' },
    ]
    await addValidatingPolicy(plane.client, 'p', { variables, validations: [validation] })
    const told = await create({ a: '1' })
    if (expected === 'cost limit') expect(told).toMatch(/operation cancelled: actual cost limit exceeded/)
    else expect(told).toBe(expected)
  })

  it('comes before the refusal of a resourceVersion on creation', async () => {
    await addValidatingPolicy(plane.client, 'p', { validations: [{ expression: 'object.metadata.name != "c"' }] })
    const versioned = (name: string) => maps().create({ metadata: { name, resourceVersion: '5' } })
    await expect(versioned('c')).rejects.toThrow("ValidatingAdmissionPolicy 'p'")
    await expect(versioned('d')).rejects.toThrow('resourceVersion should not be set on objects to be created')
  })

  it.each<[reason: string | undefined, code: number]>([
    [undefined, 422],
    ['Unauthorized', 401],
    ['Forbidden', 403],
    ['RequestEntityTooLarge', 413],
  ])('the reason %s', async (reason, code) => {
    const validation = { expression: 'false', ...(reason && { reason }) }
    await addValidatingPolicy(plane.client, 'p', { validations: [validation] })
    await expect(maps().create({ metadata: { name: 'c' } })).rejects.toMatchObject({
      code,
      reason: reason ?? 'Invalid',
    })
  })
})

describe('who is asked', () => {
  const [rule] = CONFIG_MAPS.resourceRules
  const always = [{ expression: 'false' }]
  it.each<
    [
      why: string,
      spec: Partial<ValidatingAdmissionPolicySpec>,
      binding: Partial<ValidatingAdmissionPolicyBindingSpec>,
      isAsked: boolean,
    ]
  >([
    ['by rule', {}, {}, true],
    ['by name', { matchConstraints: { resourceRules: [{ ...rule!, resourceNames: ['c'] }] } }, {}, true],
    ['by another name', { matchConstraints: { resourceRules: [{ ...rule!, resourceNames: ['d'] }] } }, {}, false],
    [
      'all but these',
      { matchConstraints: { ...CONFIG_MAPS, excludeResourceRules: [{ ...rule!, resourceNames: ['c'] }] } },
      {},
      false,
    ],
    [
      'by label',
      { matchConstraints: { ...CONFIG_MAPS, objectSelector: { matchLabels: { color: 'red' } } } },
      {},
      false,
    ],
    ['by condition', { matchConditions: [{ name: 'a', expression: 'object.data.a != "1"' }] }, {}, false],
    ['by the binding, too', {}, { matchResources: { objectSelector: { matchLabels: { color: 'red' } } } }, false],
    [
      'by rules of the binding',
      {},
      { matchResources: { resourceRules: [{ ...rule!, operations: ['UPDATE'] }] } },
      false,
    ],
    [
      'by namespace',
      {},
      { matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } } },
      true,
    ],
    ['not where it only warns', {}, { validationActions: ['Warn', 'Audit'] }, false],
    [
      'a failure that is ignored',
      { failurePolicy: 'Ignore', validations: [{ expression: 'object.data.z == "1"' }] },
      {},
      false,
    ],
  ])('%s', async (_, spec, binding, isAsked) => {
    await addValidatingPolicy(plane.client, 'p', { validations: always, ...spec }, binding)
    expect((await create({ a: '1' })) === 'allowed').toBe(!isAsked)
  })

  it('nobody is asked about policies themselves, and a policy that is gone is asked no more', async () => {
    const matchConstraints = {
      resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }],
    }
    await addValidatingPolicy(plane.client, 'p', { matchConstraints, validations: always })
    expect(await create({})).toMatch(/denied request/)
    const resource = {
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      plural: 'validatingadmissionpolicies',
      namespaced: false,
    }
    const transport = plane.server.transport({ name: 'admin', groups: ['system:masters'] })
    await transport.call({ verb: 'delete', resource, name: 'p' })
    expect(await create({})).toBe('allowed')
  })
})

describe('parameters', () => {
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  const validations = [{ expression: 'size(object.data.a) <= int(params.data.max)' }]
  const param = (name: string, max: string, namespace = 'default', labels: Record<string, string> = {}) =>
    maps(namespace).create({ metadata: { name, labels }, data: { max } })
  const setUp = async () => {
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'params' } })
    await param('small', '2', 'params', { use: 'yes' })
    await param('tiny', '1', 'params', { use: 'yes' })
    await param('here', '3')
  }
  it.each<[why: string, ref: ValidatingAdmissionPolicyBindingSpec['paramRef'], expected: RegExp]>([
    ['of a place', { name: 'small', namespace: 'params', parameterNotFoundAction: 'Deny' }, /failed expression/],
    ['of where the object is', { name: 'here', parameterNotFoundAction: 'Deny' }, /allowed/],
    [
      'all that are selected',
      { selector: { matchLabels: { use: 'yes' } }, namespace: 'params', parameterNotFoundAction: 'Deny' },
      /failed expression/,
    ],
    [
      'none, and that is bad',
      { name: 'none', parameterNotFoundAction: 'Deny' },
      /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction/,
    ],
    ['none, and that is fine', { name: 'none', parameterNotFoundAction: 'Allow' }, /allowed/],
  ])('%s', async (_, paramRef, expected) => {
    await setUp()
    await addValidatingPolicy(plane.client, 'p', { paramKind, validations }, { paramRef: paramRef! })
    expect(await create({ a: '123' })).toMatch(expected)
  })

  it('of a kind that does not exist', async () => {
    const paramRef = { name: 'x', parameterNotFoundAction: 'Deny' }
    const unknown = { apiVersion: 'example.com/v1', kind: 'Limit' }
    await addValidatingPolicy(plane.client, 'p', { paramKind: unknown, validations }, { paramRef })
    expect(await create({})).toMatch(/failed to find resource referenced by paramKind: 'example.com\/v1, Kind=Limit'/)
  })
})

describe('a policy is refused', () => {
  it.each<[why: string, spec: Partial<ValidatingAdmissionPolicySpec>, expected: RegExp]>([
    [
      'an expression that is none',
      { validations: [{ expression: 'object.' }] },
      /spec.validations\[0\].expression: Invalid value: "object.": compilation failed: ERROR/,
    ],
    [
      'one that is no condition',
      { validations: [{ expression: '1' }] },
      /spec.validations\[0\].expression: Invalid value: "1": must evaluate to bool/,
    ],
    ['parameters without a kind', { validations: [{ expression: 'params.a' }] }, /undeclared reference to 'params'/],
    ['a variable too late', { validations: [{ expression: 'variables.a' }] }, /undefined field 'a'/],
    [
      'a message that is none',
      { validations: [{ expression: 'true', messageExpression: '1' }] },
      /messageExpression: Invalid value: "1": must evaluate to string/,
    ],
    [
      'an annotation that is none',
      { auditAnnotations: [{ key: 'a', valueExpression: '1' }] },
      /valueExpression: Invalid value: "1": must evaluate to one of the types: string, null_type/,
    ],
    [
      'a variable that is none',
      { variables: [{ name: 'a', expression: 'nope' }], validations: [{ expression: 'true' }] },
      /spec.variables\[0\].expression/,
    ],
  ])('%s', async (_, spec, expected) => {
    await expect(addValidatingPolicy(plane.client, 'p', spec)).rejects.toThrow(expected)
  })
})
