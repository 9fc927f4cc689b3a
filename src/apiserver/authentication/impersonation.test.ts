import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { AccessAttributes, Authorizer } from '../authorization/authorizer.ts'
import type { UserInfo } from '../identity.ts'
import { impersonate } from './impersonation.ts'

/** Allows `verb group/resource/name`, each part maybe `*`. */
function allowing(...rights: string[]): Authorizer {
  return {
    decide(_, { verb, resource }) {
      const { group, resource: plural, subresource, name } = resource!
      const asked = [verb, group, subresource ? `${plural}:${subresource}` : plural, name]
      const allowed = rights.some((right) => right.split(/[ /]/).every((part, i) => part === '*' || part === asked[i]))
      return { allowed, reason: '' }
    },
  }
}

const AUTHENTICATION = 'authentication.k8s.io'
const LIST_PODS: AccessAttributes = {
  verb: 'list',
  resource: { group: '', resource: 'pods', namespace: 'shop', name: '', subresource: '' },
}
const SENDER: UserInfo = { name: 'helper', groups: [] }
const AGENT: UserInfo = {
  name: 'system:serviceaccount:shop:agent',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': ['node-1'] },
}
const on = (mode: string, verb = 'list') => `impersonate-on:${mode}:${verb} /pods/*`

async function acting(authorizer: Authorizer, headers: IncomingHttpHeaders, sender = SENDER): Promise<string> {
  try {
    const { user, constraint } = await impersonate(authorizer, sender, headers, LIST_PODS)
    return `${[user.name, ...user.groups].join(' ')} by ${constraint ?? 'impersonate'}`
  } catch (error) {
    return (error as Error).message.replace(/^.*? is forbidden: User "\S+" cannot /, 'cannot ')
  }
}

describe('acting as a user', () => {
  const ann = { 'impersonate-user': 'ann' }
  const inGroup = (group: string | string[]) => ({ ...ann, 'impersonate-group': group })
  const beAnn = `impersonate:user-info ${AUTHENTICATION}/users/ann`
  const anyGroup = `impersonate:user-info ${AUTHENTICATION}/groups/*`
  const DENIED = 'cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "shop"'

  it.each<[string, string[], IncomingHttpHeaders, string]>([
    ['without a right', [], ann, DENIED],
    ['in general', ['impersonate /users/ann'], ann, 'ann system:authenticated by impersonate'],
    ['for this request', [on('user-info'), beAnn], ann, 'ann system:authenticated by impersonate:user-info'],
    ['for another request', [on('user-info', 'get'), beAnn], ann, DENIED],
    [
      'who may not be acted as',
      [on('user-info')],
      ann,
      `cannot impersonate:user-info resource "users" in API group "${AUTHENTICATION}" at the cluster scope`,
    ],
    [
      'in a group',
      [on('user-info'), beAnn, `impersonate:user-info ${AUTHENTICATION}/groups/dev`],
      inGroup('dev'),
      'ann dev system:authenticated by impersonate:user-info',
    ],
    [
      'in another group',
      [on('user-info'), beAnn, `impersonate:user-info ${AUTHENTICATION}/groups/dev`],
      inGroup('ops'),
      `cannot impersonate:user-info resource "groups" in API group "${AUTHENTICATION}" at the cluster scope`,
    ],
    [
      'in all groups at once',
      [on('user-info'), beAnn, anyGroup],
      inGroup(['a', 'b', 'c', 'd']),
      'ann a b c d system:authenticated by impersonate:user-info',
    ],
    [
      'among the masters',
      [on('user-info'), beAnn, anyGroup],
      inGroup('system:masters'),
      `cannot impersonate:user-info resource "groups" in API group "${AUTHENTICATION}" at the cluster scope: impersonating the system:masters group is not allowed`,
    ],
    [
      'among the masters, in general',
      [on('user-info'), beAnn, anyGroup, 'impersonate /*/*'],
      inGroup('system:masters'),
      'ann system:masters system:authenticated by impersonate',
    ],
    [
      'with an extra',
      [on('user-info'), beAnn, `impersonate:user-info ${AUTHENTICATION}/*/*`],
      { ...ann, 'impersonate-extra-acme.io%2fteam': 'blue' },
      'ann system:authenticated by impersonate:user-info',
    ],
    [
      'with an extra of no domain',
      [on('user-info'), beAnn, `impersonate:user-info ${AUTHENTICATION}/*/*`],
      { ...ann, 'impersonate-extra-scopes': 'x' },
      `cannot impersonate:user-info resource "userextras" in API group "${AUTHENTICATION}" at the cluster scope: impersonating an invalid key in extra is not allowed`,
    ],
    [
      'who is an account',
      [on('user-info'), `impersonate:user-info */*/*`],
      { 'impersonate-user': 'system:serviceaccount:a:b' },
      'cannot impersonate-on:serviceaccount:list resource "pods" in API group "" in the namespace "shop"',
    ],
    [
      'who is a node',
      [on('user-info'), `impersonate:user-info */*/*`],
      { 'impersonate-user': 'system:node:a' },
      'cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "shop"',
    ],
  ])('%s', async (_, rights, headers, expected) => {
    expect(await acting(allowing(...rights), headers)).toBe(expected)
  })
})

describe('acting as', () => {
  it.each<[string, string[], string, UserInfo, string]>([
    [
      'an account',
      [on('serviceaccount'), `impersonate:serviceaccount ${AUTHENTICATION}/serviceaccounts/b`],
      'system:serviceaccount:a:b',
      SENDER,
      'system:serviceaccount:a:b system:serviceaccounts system:serviceaccounts:a system:authenticated by impersonate:serviceaccount',
    ],
    [
      'any node',
      [on('arbitrary-node'), `impersonate:arbitrary-node ${AUTHENTICATION}/nodes/node-2`],
      'system:node:node-2',
      SENDER,
      'system:node:node-2 system:nodes system:authenticated by impersonate:arbitrary-node',
    ],
    [
      'the own node',
      [on('associated-node'), `impersonate:associated-node ${AUTHENTICATION}/nodes/*`],
      'system:node:node-1',
      AGENT,
      'system:node:node-1 system:nodes system:authenticated by impersonate:associated-node',
    ],
    [
      'another node',
      [on('associated-node'), `impersonate:associated-node ${AUTHENTICATION}/nodes/*`],
      'system:node:node-2',
      AGENT,
      'cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "shop"',
    ],
    [
      'the node of somebody who is no account',
      [on('associated-node'), `impersonate:associated-node ${AUTHENTICATION}/nodes/*`],
      'system:node:node-1',
      { ...AGENT, name: 'helper' },
      'cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "shop"',
    ],
  ])('%s', async (_, rights, name, sender, expected) => {
    expect(await acting(allowing(...rights), { 'impersonate-user': name }, sender)).toBe(expected)
  })
})
