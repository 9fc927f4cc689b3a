import { symlink } from 'node:fs/promises'
import { request } from 'node:https'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { type ClusterCertificates, loadCertificates } from '../cluster/certificates.ts'
import { isReady, type Workbench, workbench } from './workbench.contract.ts'

let bench: Workbench
let certificates: ClusterCertificates

beforeEach(async () => {
  certificates = await loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1'] })
  const { key, cert } = certificates.issueServer('system:node:node-1', ['system:nodes'], ['127.0.0.1'])
  bench = await workbench({
    program: ({ attempt }) => ({ output: [`life ${attempt}`, 'second', 'third'] }),
    kubelet: { listen: { host: '127.0.0.1', port: 0 }, tls: { key, cert, clientCa: certificates.ca.cert } },
  })
})

afterEach(() => bench[Symbol.asyncDispose]())

type Client = { readonly key: string; readonly cert: string } | undefined

function ask(path: string, client: Client = certificates.admin): Promise<{ code: number; body: string }> {
  const { port } = bench.kubelet!.address!
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, ca: certificates.ca.cert, ...client, agent: false })
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => {
      let body = ''
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.once('end', () => resolve({ code: incoming.statusCode ?? 0, body }))
      incoming.once('error', reject)
    })
    outgoing.end()
  })
}

describe('who may ask', () => {
  it.each([
    ['an administrator', () => certificates.admin, 200],
    ['the API server', () => certificates.issueClient('kube-apiserver-kubelet-client', []), 200],
    ['somebody else', () => certificates.issueClient('joe', ['users']), 403],
    ['nobody', () => undefined, 401],
  ])('%s', async (_, client, code) => {
    expect((await askAs('/healthz', client())).code).toBe(code)
  })

  const askAs = (path: string, client: Client) => ask(path, client ?? ({} as never))
})

describe('what is told', () => {
  beforeEach(async () => {
    await bench.create('web', {})
    await bench.untilPod('web', isReady)
  })

  it('how it was started', async () => {
    const { kubeletconfig } = JSON.parse((await ask('/configz')).body)
    expect(kubeletconfig).toMatchObject({
      kind: 'KubeletConfiguration',
      readOnlyPort: 0,
      authentication: { anonymous: { enabled: false } },
      podPidsLimit: -1,
    })
    expect((await ask('/configz', {} as never)).code).toBe(401)
  })

  it('the pods of the node', async () => {
    const { items } = JSON.parse((await ask('/pods')).body)
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['web'])
  })

  it.each([
    ['', 'life 0\nsecond\nthird\n'],
    ['?tailLines=2', 'second\nthird\n'],
    ['?tailLines=0', ''],
    ['?limitBytes=6', 'life 0'],
    ['?timestamps=true&tailLines=1', '2026-01-01T[0-9:]{8}\\.\\d{9}Z third\n'],
    ['?sinceTime=2027-01-01T00:00:00Z', ''],
  ])('logs with %s', async (query, text) => {
    const found = await ask(`/containerLogs/default/web/main${query}`)
    expect(found).toEqual({
      code: 200,
      body: expect.stringMatching(new RegExp(`^${text}$`)),
    })
  })

  it('log files, and folders of them', async () => {
    expect((await ask('/logs/')).body).toContain('<a href="./pods/">pods/</a>')
    const [folder = ''] = /default_web_[^/]+/.exec((await ask('/logs/pods/')).body) ?? []
    expect(await ask(`/logs/pods/${folder}/main/0.log`)).toMatchObject({ body: expect.stringContaining('F life 0\n') })
    expect((await ask('/logs/%2e%2e%2f')).code).toBe(404)
    expect((await ask('/logs/none')).code).toBe(404)
  })

  it.each([
    ['/etc/passwd', 404],
    ['../../../../../../../../etc/passwd', 404],
    ['/proc/self/environ', 404],
    ['pods', 200],
  ])('log files through a link to %s: %i', async (target, code) => {
    await symlink(target, path.join(bench.rootDir, 'log', 'link'))
    expect((await ask('/logs/link')).code).toBe(code)
  })

  it.each(['/logs/a%00b', '/logs/..%2f..%2fetc%2fpasswd', '/logs/%2fetc%2fpasswd'])('no log file %s', async (name) => {
    expect((await ask(name)).code).toBe(404)
  })

  it.each([
    ['/containerLogs/default/web/other', 400, 'container other is not valid for pod web'],
    ['/containerLogs/default/none/main', 404, 'pod "none" not found'],
    [
      '/containerLogs/default/web/main?previous=true',
      400,
      'previous terminated container "main" in pod "web" not found',
    ],
    ['/nothing', 404, 'the server could not find the requested resource'],
  ])('%s is refused', async (path, code, body) => {
    expect(await ask(path)).toEqual({ code, body })
  })

  it('the log of the life before', async () => {
    const [one] = await bench.runtime.listContainers()
    bench.runtime.exit(one!.id, 1)
    await bench.untilPod('web', (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1)
    expect((await ask('/containerLogs/default/web/main?previous=true&tailLines=3')).body).toMatch(/^life 0\n/)
    expect((await ask('/containerLogs/default/web/main')).body).toMatch(/^life 1\n/)
  })

  it('a log that goes on, until its container ends', async () => {
    const following = ask('/containerLogs/default/web/main?follow=true')
    const [one] = await bench.runtime.listContainers()
    await bench.pods().delete('web', { gracePeriodSeconds: 1 })
    await bench.until(
      () => bench.runtime.listContainers(),
      (list) => !list.some(({ id }) => id === one!.id),
    )
    let ended = false
    void following.then(() => {
      ended = true
    })
    await bench.until(async () => ended, Boolean)
    expect((await following).body).toBe('life 0\nsecond\nthird\n')
  })

  it.each([
    [
      '/metrics/resource',
      'container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 10000000',
    ],
    ['/metrics/cadvisor', 'container_network_receive_bytes_total{id="/kubepods/pod'],
    ['/metrics', 'kubelet_running_pods 1'],
    ['/stats/summary', '"podRef":{"name":"web","namespace":"default"'],
  ])('figures at %s', async (path, text) => {
    // A sample serves for five seconds.
    await bench.clock.advanceAsync(6000)
    const found = await ask(path)
    expect(found.code).toBe(200)
    expect(found.body).toContain(text)
  })
})

describe('exec', () => {
  it('runs in the container that runs', async () => {
    await bench.create('web', {})
    await bench.untilPod('web', isReady)
    const pod = { namespace: 'default', name: 'web' }
    const session = await bench.kubelet!.access.execInContainer(pod, 'main', { command: ['true'], stdout: true })
    expect(await session.exited).toBe(0)
    const missing = bench.kubelet!.access.execInContainer(pod, 'other', { command: ['true'] })
    await expect(missing).rejects.toMatchObject({ code: 404, message: 'container not found ("other")' })
  })
})
