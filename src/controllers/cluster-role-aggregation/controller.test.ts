import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clusterRoleKind } from '../../api/kinds/rbac/cluster-role.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { clusterRoleAggregationController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [clusterRoleAggregationController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const roles = () => plane.client.resource(clusterRoleKind)
const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] })
const create = (name: string, resources: string[], labels: Record<string, string> = {}) =>
  roles().create({ metadata: { name, labels }, rules: resources.map(rule) })
const createAggregated = (name: string, label: string, labels: Record<string, string> = {}) =>
  roles().create({
    metadata: { name, labels },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: 'true' } }] },
  })
const resources = async (name: string) => {
  await plane.settled()
  return (await roles().get(name)).rules?.flatMap((one) => one.resources) ?? []
}

describe('clusterRoleAggregationController', () => {
  it('collects the rules of the roles it selects, by name, each once', async () => {
    await create('b', ['pods', 'nodes'], { view: 'true' })
    await create('a', ['pods', 'secrets'], { view: 'true' })
    await create('c', ['events'])
    await createAggregated('all', 'view')
    expect(await resources('all')).toEqual(['pods', 'secrets', 'nodes'])
  })

  it('follows roles that come, change and go', async () => {
    await createAggregated('all', 'view')
    await create('a', ['pods'], { view: 'true' })
    expect(await resources('all')).toEqual(['pods'])
    await roles().patch('a', { rules: [rule('nodes')] })
    expect(await resources('all')).toEqual(['nodes'])
    await roles().delete('a')
    expect(await resources('all')).toEqual([])
  })

  it('reaches through levels and overrules what was written by hand', async () => {
    await create('leaf', ['pods'], { view: 'true' })
    await createAggregated('viewer', 'view', { edit: 'true' })
    await createAggregated('editor', 'edit')
    expect(await resources('editor')).toEqual(['pods'])
    await roles().patch('editor', { rules: [rule('secrets')] })
    expect(await resources('editor')).toEqual(['pods'])
  })
})
