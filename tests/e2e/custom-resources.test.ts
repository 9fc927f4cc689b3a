import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import { runProgram } from '../tools/cluster.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'

/** A custom resource from its definition to its end, as kubectl users meet it. */

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat, shortNames: [bt], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.crew, statusReplicasPath: .status.crew}}
    additionalPrinterColumns:
    - {name: Crew, type: integer, jsonPath: .spec.crew}
    - {name: Flags, type: string, jsonPath: '.spec.flags[*].colour', priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields: [{jsonPath: .spec.kind}]
    schema:
      openAPIV3Schema:
        type: object
        description: A thing that floats.
        required: [spec]
        properties:
          spec:
            type: object
            description: What the boat shall be.
            required: [crew]
            x-kubernetes-validations:
            - {rule: "self.kind != 'dinghy' || self.crew <= 2", message: a dinghy carries two}
            properties:
              crew: {type: integer, minimum: 0, description: How many sail it.}
              kind: {type: string, enum: [sampan, dinghy], default: sampan}
              flags:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [colour]
                items:
                  type: object
                  required: [colour]
                  properties: {colour: {type: string}, size: {type: integer}}
          status: {type: object, properties: {crew: {type: integer}}}
`

const boat = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'harbour.example.com/v1', kind: 'Boat', metadata: { name }, spec })

describe.runIf(kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  let cluster: Cluster
  let binary: string
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-custom-'))
  const env = { ...process.env, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }

  beforeAll(async () => {
    binary = await kubectlOf(version)
    cluster = await startCluster({ controllers: [] })
    writeFileSync(env.KUBECONFIG, cluster.kubeconfig)
    writeFileSync(path.join(folder, 'definition.yaml'), DEFINITION)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (line: string) => runProgram(binary, line.split(' '), env, { cwd: folder })
  async function ok(line: string): Promise<string> {
    const ran = await run(line)
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }
  async function refused(line: string): Promise<string> {
    const ran = await run(line)
    expect(ran.code).not.toBe(0)
    return ran.stderr
  }
  const write = (text: string) => writeFileSync(path.join(folder, 'boat.json'), text)

  test('defines it', async () => {
    expect(await ok('apply -f definition.yaml')).toContain('created')
    await ok('wait --for=condition=Established crd/boats.harbour.example.com --timeout=10s')
    expect(await ok('api-resources --api-group=harbour.example.com')).toMatch(
      /boats +bt +harbour.example.com\/v1 +true +Boat/,
    )
  })

  test('explains it', async () => {
    expect(await ok('explain boats')).toMatch(
      /A thing that floats[\s\S]*apiVersion[\s\S]*spec[\s\S]*What the boat shall be/,
    )
    expect(await ok('explain boats.spec.crew')).toContain('How many sail it.')
    expect(await ok('explain boats.metadata.labels')).toContain('labels')
  })

  test('applies, prints and selects', async () => {
    write(boat('one', { crew: 3, flags: [{ colour: 'red' }] }))
    expect(await ok('apply -f boat.json')).toContain('boat.harbour.example.com/one created')
    write(boat('one', { crew: 4, flags: [{ colour: 'red' }] }))
    expect(await ok('apply -f boat.json')).toContain('configured')
    expect(await ok('apply -f boat.json')).toContain('unchanged')
    expect(await ok('get bt -o wide')).toMatch(/NAME +CREW +FLAGS +AGE\none +4 +red/)
    expect(await ok('get all')).toContain('boat.harbour.example.com/one')
    if (Number(version.slice(2)) > 27)
      expect(await ok('get boats --field-selector spec.kind=sampan -o name')).toContain('one')
    expect(await ok('get boats --field-selector spec.kind=dinghy -o name')).toBe('')
    expect(await ok('get boat one -o jsonpath={.spec.kind}')).toBe('sampan')
    expect(await ok('describe boat one')).toContain('Colour:  red')
  })

  test('refuses what its schema and rules refuse', async () => {
    write(boat('two', { crew: -1 }))
    expect(await refused('create -f boat.json')).toContain(
      'spec.crew: Invalid value: -1: spec.crew in body should be greater than or equal to 0',
    )
    write(boat('two', { crew: 3, kind: 'dinghy' }))
    expect(await refused('create -f boat.json')).toContain(
      'The Boat "two" is invalid: spec: Invalid value: "object": a dinghy carries two',
    )
    write(boat('two', { crew: 1, sails: 2 }))
    expect(await refused('create -f boat.json')).toContain('unknown field "spec.sails"')
    write(boat('two', {}))
    expect(await refused('create -f boat.json')).toContain('spec.crew: Required value')
  })

  test('applies on the server, patches, scales, edits the status', async () => {
    write(boat('one', { crew: 5, flags: [{ colour: 'blue', size: 1 }] }))
    expect(await refused('apply --server-side --field-manager=other -f boat.json')).toContain('conflict')
    await ok('apply --server-side --field-manager=other --force-conflicts -f boat.json')
    // What kubectl applied before becomes the new manager's, who does not want it any more.
    expect(await ok('get boat one -o jsonpath={.spec.flags[*].colour}')).toBe('blue')
    expect(await refused('patch boat one -p {"spec":{"crew":1}}')).toMatch(/UnsupportedMediaType|strategic/)
    await ok('patch boat one --type=merge -p {"spec":{"crew":6}}')
    await ok('scale boat one --replicas=7')
    expect(await ok('get boat one -o jsonpath={.spec.crew}/{.metadata.generation}')).toMatch(/^7\//)
    await ok('patch boat one --subresource=status --type=merge -p {"status":{"crew":2}}')
    expect(await ok('get boat one -o jsonpath={.status.crew}')).toBe('2')
  })

  test('deletes it with all its objects', async () => {
    await ok('delete crd boats.harbour.example.com --timeout=20s')
    // kubectl may still remember the resource.
    expect(await refused('get boats')).toMatch(/doesn't have a resource type|could not find the requested resource/)
  })
})
