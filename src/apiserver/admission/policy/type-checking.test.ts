import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ValidatingAdmissionPolicySpec } from '../../../api/generated/admissionregistration-v1.ts'
import { validatingAdmissionPolicyKind } from '../../../api/kinds/admissionregistration/validating-admission-policy.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'

let plane: AdmissionServer
beforeEach(async () => {
  plane = await startAdmissionServer()
})
afterEach(() => plane[Symbol.asyncDispose]())

const deployments = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] }

async function warningsOf(spec: ValidatingAdmissionPolicySpec): Promise<[field: string, warning: string][]> {
  const policies = plane.client.resource(validatingAdmissionPolicyKind)
  const full = { matchConstraints: { resourceRules: [deployments] }, ...spec }
  await policies.create({ metadata: { name: 'p' }, spec: full })
  for (;;) {
    const { status, metadata } = await policies.get('p')
    if (status?.typeChecking && status.observedGeneration === metadata.generation)
      return (status.typeChecking.expressionWarnings ?? []).map(({ fieldRef, warning }) => [fieldRef, warning])
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('types of policies', () => {
  it.each<[expression: string, warning: RegExp | undefined]>([
    ['object.spec.replicas > 1', undefined],
    ['object.spec.replicas > "1"', /^apps\/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload/],
    ['object.spec.nonsense == 1', /^apps\/v1, Kind=Deployment: ERROR: .* undefined field 'nonsense'/],
    ['object.metadata.labels["a"] == "b"', undefined],
    ['object.spec.template.spec.containers.all(c, c.image != 1)', /found no matching overload for '_!=_'/],
    ['variables.replicas == "x"', /found no matching overload/],
  ])('%s', async (expression, warning) => {
    const variables = [{ name: 'replicas', expression: 'object.spec.replicas' }]
    const found = await warningsOf({ variables, validations: [{ expression }] })
    if (!warning) expect(found).toEqual([])
    else expect(found).toEqual([['spec.validations[0].expression', expect.stringMatching(warning)]])
  })

  it('all resources are of no type', async () => {
    const matchConstraints = { resourceRules: [{ ...deployments, resources: ['*'] }] }
    expect(await warningsOf({ matchConstraints, validations: [{ expression: 'object.nonsense' }] })).toEqual([])
  })
})
