import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootstrapTokenSecret, parseBootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { isSignedFor } from '../../api/kinds/core/cluster-info.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { bootstrapSignerController } from './controller.ts'

const TOKEN = parseBootstrapToken('abcdef.0123456789abcdef')!
const CONTENT = 'how to reach the cluster'
let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [bootstrapSignerController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const infos = () => plane.client.resource(configMapKind).namespace('kube-public')
const publish = () => infos().create({ metadata: { name: 'cluster-info' }, data: { kubeconfig: CONTENT } })
const addToken = (usages: string[], lifetime?: number, token = TOKEN) =>
  plane.client.resource(secretKind).create(
    bootstrapTokenSecret({
      ...token,
      description: '',
      usages,
      groups: [],
      ...(lifetime !== undefined && { expiration: formatTime(clock.now() + lifetime) }),
    }),
  )
async function signatures() {
  await plane.settled()
  const { data } = await infos().get('cluster-info')
  return Object.keys(data ?? {}).filter((key) => key !== 'kubeconfig')
}

describe('bootstrapSignerController', () => {
  it('signs for a token that comes, and takes the signature away with it', async () => {
    await publish()
    await addToken(['signing', 'authentication'])
    expect(await signatures()).toEqual(['jws-kubeconfig-abcdef'])
    const { data } = await infos().get('cluster-info')
    const signature = data!['jws-kubeconfig-abcdef']!
    expect(isSignedFor(CONTENT, TOKEN, signature)).toBe(true)
    expect(isSignedFor(CONTENT, { ...TOKEN, secret: 'another000000000' }, signature)).toBe(false)
    expect(isSignedFor(`${CONTENT}!`, TOKEN, signature)).toBe(false)
    await plane.client.resource(secretKind).namespace('kube-system').delete('bootstrap-token-abcdef')
    expect(await signatures()).toEqual([])
  })

  it('writes the form that kubeadm compares with', async () => {
    await publish()
    await addToken(['signing'])
    await plane.settled()
    const { data } = await infos().get('cluster-info')
    const [header, payload] = data!['jws-kubeconfig-abcdef']!.split('.')
    expect(Buffer.from(header!, 'base64url').toString()).toBe('{"alg":"HS256","kid":"abcdef"}')
    expect(payload).toBe('')
  })

  it('signs anew when the cluster is reached in another way', async () => {
    await addToken(['signing'])
    await publish()
    await plane.settled()
    await infos().patch('cluster-info', { data: { kubeconfig: 'elsewhere' } })
    await plane.settled()
    const { data } = await infos().get('cluster-info')
    expect(isSignedFor('elsewhere', TOKEN, data!['jws-kubeconfig-abcdef']!)).toBe(true)
  })

  it.each([
    ['for authentication only', ['authentication'], undefined, []],
    ['past its end', ['signing'], -1000, []],
    ['before its end', ['signing'], 60_000, ['jws-kubeconfig-abcdef']],
  ])('a token %s', async (_, usages, lifetime, expected) => {
    await publish()
    await addToken(usages, lifetime)
    expect(await signatures()).toEqual(expected)
    await clock.advanceAsync(61_000)
    if (lifetime !== undefined) expect(await signatures()).toEqual([])
  })

  it('makes no ConfigMap of its own', async () => {
    await addToken(['signing'])
    await plane.settled()
    expect((await infos().list()).items.map(({ metadata }) => metadata.name)).not.toContain('cluster-info')
  })
})
