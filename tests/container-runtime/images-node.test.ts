/** From `kubectl run` to a container of an image that came from a registry, or from a file. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { buildImage } from '../tools/build-image.ts'
import { eventually, Machine } from '../tools/machine.ts'
import { TestRegistry } from '../tools/registry.ts'
import { makeBusyboxRoot } from './busybox-image.ts'

/** The machine, as its nodes see it. */
const GATEWAY = '172.30.0.1'
const PORT = 5000

asRoot('images of a node', () => {
  let machine: Machine
  let registry: TestRegistry
  let layout: string
  beforeAll(async () => {
    machine = new Machine()
    await machine.up()
    const root = path.join(machine.folder, 'busybox')
    makeBusyboxRoot(root)
    const config = { Cmd: ['sh', '-c', 'echo default command; cat /etc/motd'], Env: ['PATH=/bin'] }
    const top = path.join(machine.folder, 'top')
    mkdirSync(path.join(top, 'etc'), { recursive: true })
    writeFileSync(path.join(top, 'etc', 'motd'), 'from the upper layer\n')
    layout = path.join(machine.folder, 'layout')
    buildImage({ to: layout, name: 'test.local/busybox:1', layers: [{ folder: root }, { folder: top }], config })
    registry = await TestRegistry.start({
      host: GATEWAY,
      port: PORT,
      start: (command, args) => machine.spawn(command, args),
      isUp: async (address) => (await machine.run('curl', ['-sf', `http://${address}/v2/`])).code === 0,
    })
    const skopeo = ['--insecure-policy', 'copy', '--dest-tls-verify=false', `oci:${layout}`]
    await machine.must('skopeo', ...skopeo, `docker://${GATEWAY}:${PORT}/busybox:latest`)
  }, 120_000)
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]()
    await machine?.[Symbol.asyncDispose]()
  }, 120_000)

  const finished = (pod: string) =>
    machine.kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${pod}`, '--timeout=60s')
  const waitingReason = (pod: string) =>
    machine.kubectl('get', 'pod', pod, '-o', 'jsonpath={.status.containerStatuses[0].state.waiting.reason}')

  test.each([
    ['gateway', `${GATEWAY}:${PORT}/busybox`],
    ['loopback', `127.0.0.1:${PORT}/busybox:latest`],
  ])('a pod of the registry on the %s', async (name, image) => {
    await machine.kubectl('run', name, `--image=${image}`, '--restart=Never')
    await finished(name)
    const log = await machine.kubectl('logs', name)
    expect(log).toBe('default command\nfrom the upper layer\n')
    const imageId = await machine.kubectl('get', 'pod', name, '-o', 'jsonpath={.status.containerStatuses[0].imageID}')
    expect(imageId).toMatch(/@?sha256:[0-9a-f]{64}$/)
    const events = await machine.kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}')
    expect(events).toContain(`Successfully pulled image "${image}"`)
  })

  const withVolume = (name: string, reference: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: 'sampan.local/host',
          command: ['sh', '-c', 'cat /volume/etc/motd /part/motd; ls /volume/bin/busybox; touch /volume/x 2>&1'],
          volumeMounts: [
            { name: 'image', mountPath: '/volume' },
            { name: 'image', mountPath: '/part', subPath: 'etc' },
          ],
        },
      ],
      volumes: [{ name: 'image', image: { reference, pullPolicy: 'Always' } }],
    },
  })

  test('an image as a volume, pulled each time', async () => {
    await machine.apply(
      withVolume('volume', `${GATEWAY}:${PORT}/busybox`),
      withVolume('no-volume', `${GATEWAY}:${PORT}/none`),
    )
    await machine.kubectl('wait', '--for=jsonpath={.status.phase}=Failed', 'pod/volume', '--timeout=60s')
    const read = 'from the upper layer\n'.repeat(2)
    expect(await machine.kubectl('logs', 'volume')).toMatch(
      new RegExp(`^${read}/volume/bin/busybox\n.*Read-only file system\n$`),
    )
    await eventually(
      () => waitingReason('no-volume'),
      (reason) => /^(ErrImagePull|ImagePullBackOff)$/.test(reason),
    )
  })

  test('an image that is nowhere', async () => {
    await machine.kubectl('run', 'missing', `--image=${GATEWAY}:${PORT}/missing`, '--restart=Never')
    await eventually(
      () => waitingReason('missing'),
      (reason) => /^(ErrImagePull|ImagePullBackOff)$/.test(reason),
    )
    const events = await machine.kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}')
    expect(events).toContain(`${GATEWAY}:${PORT}/missing:latest: not found`)
  })

  test('sampan image load, list and rm beside the running node', async () => {
    expect(await machine.sampan('image', 'load', layout)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Loaded test.local/busybox:1'),
    })
    await machine.kubectl(
      'run',
      'loaded',
      '--image=test.local/busybox:1',
      '--restart=Never',
      '--image-pull-policy=Never',
    )
    await finished('loaded')
    const listed = await machine.sampan('image', 'list', '-o', 'json')
    const [image] = JSON.parse(listed.stdout) as { repoTags: string[] }[]
    expect(image?.repoTags).toContain('test.local/busybox:1')
    expect((await machine.sampan('image', 'list')).stdout).toMatch(/IMAGE +ID +SIZE +NODES\n/)
    expect(await machine.sampan('image', 'rm', 'test.local/busybox:1')).toMatchObject({ code: 0 })
    expect((await machine.sampan('image', 'list')).stdout).not.toContain('test.local/busybox')
    expect(await machine.sampan('image', 'rm', 'test.local/busybox:1')).toMatchObject({ code: 1 })
  })

  test('sampan image pull', async () => {
    const reference = `${GATEWAY}:${PORT}/busybox`
    const folder = path.join(machine.dataDir, 'nodes', 'node-1', 'images')
    writeFileSync(path.join(folder, 'registries.json'), JSON.stringify({ insecure: [GATEWAY] }))
    expect(await machine.sampan('image', 'pull', reference)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Pulled ${reference}:latest`),
    })
    expect(await machine.sampan('image', 'pull', `${GATEWAY}:${PORT}/missing`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not found'),
    })
  })
})
