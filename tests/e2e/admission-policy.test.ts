import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import { type Ran, runProgram } from '../tools/cluster.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'

/** Policies as their users write them. */
const VERSIONS = [KUBECTL_VERSIONS.at(-1)!]

const LIMIT = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replica-limit}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  matchConditions:
  - {name: not-exempt, expression: "!(has(object.metadata.labels) && 'exempt' in object.metadata.labels)"}
  variables:
  - {name: limit, expression: "int(params.data.max)"}
  - {name: over, expression: "object.spec.replicas - variables.limit"}
  validations:
  - expression: variables.over <= 0
    messageExpression: "'too many by ' + string(variables.over)"
    reason: Invalid
  - expression: object.spec.replicas > 0
    message: at least one
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replica-limit}
spec:
  policyName: replica-limit
  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: default}
data: {max: "3"}
`

const WARN = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tags}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))
    message: images should have a tag of their own
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tags}
spec: {policyName: tags, validationActions: [Warn, Audit]}
`

const SIDECAR = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: sidecar}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  matchConditions:
  - {name: once, expression: "!object.spec.template.spec.containers.exists(c, c.name == 'side')"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
          containers: [Object.spec.template.spec.containers{name: "side", image: "side:1"}]
        }}}}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "add", path: "/metadata/annotations", value: {"example.com/side": "yes"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: sidecar}
spec: {policyName: sidecar}
`

const WRONG = LIMIT.split('---')[0]!
  .replaceAll('replica-limit', 'wrong')
  .replace('object.spec.replicas > 0', 'object.spec.nonsense > 0')

describe.runIf(kubectlRunsHere).each(VERSIONS)('kubectl %s', (version) => {
  let cluster: Cluster
  let binary: string
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-policy-'))
  const env = { ...process.env, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }

  beforeAll(async () => {
    binary = await kubectlOf(version)
    cluster = await startCluster({ controllers: [] })
    writeFileSync(env.KUBECONFIG, cluster.kubeconfig)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (line: string): Promise<Ran> => runProgram(binary, line.split(' '), env, { cwd: folder })
  async function ok(line: string): Promise<string> {
    const ran = await run(line)
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout + ran.stderr
  }
  async function refused(line: string): Promise<string> {
    const ran = await run(line)
    expect(ran.code).not.toBe(0)
    return ran.stderr
  }
  async function apply(text: string): Promise<string> {
    writeFileSync(path.join(folder, 'objects.yaml'), text)
    return ok('apply -f objects.yaml')
  }

  test('a policy with a parameter refuses what is too much', async () => {
    await apply(LIMIT)
    expect(await refused('create deployment big --image=i:1 --replicas=5')).toContain(
      `ValidatingAdmissionPolicy 'replica-limit' with binding 'replica-limit' denied request: too many by 2`,
    )
    expect(await refused('create deployment none --image=i:1 --replicas=0')).toContain('denied request: at least one')
    expect(await ok('create deployment fine --image=i:1 --replicas=3')).toContain('created')
    await ok('patch configmap limits -p {"data":{"max":"9"}}')
    expect(await ok('create deployment big --image=i:1 --replicas=5')).toContain('created')
    expect(await ok('get validatingadmissionpolicies')).toMatch(/replica-limit +2 +v1\/ConfigMap/)
    await ok('delete validatingadmissionpolicybinding replica-limit')
    expect(await ok('create deployment none --image=i:1 --replicas=0')).toContain('created')
  })

  test('a policy that warns', async () => {
    await apply(WARN)
    expect(await ok('create deployment latest --image=i:latest')).toContain(
      `Warning: Validation failed for ValidatingAdmissionPolicy 'tags' with binding 'tags': images should have a tag of their own`,
    )
    await ok('delete validatingadmissionpolicy tags')
  })

  test('what cannot work on its kind is told in the status', async () => {
    await apply(WRONG)
    await ok('wait --for=jsonpath={.status.observedGeneration}=1 validatingadmissionpolicy/wrong --timeout=10s')
    const warnings = await ok(
      'get validatingadmissionpolicy wrong -o jsonpath={.status.typeChecking.expressionWarnings}',
    )
    expect(warnings).toMatch(
      /spec.validations\[1\].expression.*apps\/v1, Kind=Deployment: ERROR: .*undefined field 'nonsense'/,
    )
  })

  test('a mutating policy adds a container', async () => {
    await apply(SIDECAR)
    await ok('create deployment main --image=main:1')
    expect(await ok('get deployment main -o jsonpath={.spec.template.spec.containers[*].name}')).toBe('main side')
    expect(await ok('get deployment main -o jsonpath={.metadata.annotations}')).toContain('"example.com/side":"yes"')
    await ok('delete mutatingadmissionpolicy sidecar')
  })
})
