/** A pod of the host's own programs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import { HOST_IMAGE, HOST_PATH_ANNOTATION, hostImage } from '../../src/container-runtime/host-image.ts'
import { podScratch, type RuntimeUnderTest } from '../../src/container-runtime/pod-scratch.contract.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { asRoot } from '../linux/as-root.ts'
import { loopbackNetwork } from './builtin-under-test.ts'

asRoot('the host image', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-host-image-'))
  const app = path.join(folder, 'app')
  const cgroupRoot = `/sampan-host-image-${process.pid}`
  let under: RuntimeUnderTest
  beforeAll(async () => {
    mkdirSync(app)
    writeFileSync(path.join(app, 'server.js'), 'console.log(process.cwd(), process.getuid(), process.version)')
    const images = hostImage(folder)
    const { id: imageId } = await images.pull(HOST_IMAGE)
    const runtime = await startBuiltinRuntime({
      stateDir: path.join(folder, 'state'),
      images,
      network: loopbackNetwork(),
      clock: systemClock,
      log: silentLogger,
      cgroupRoot,
    })
    under = { runtime, imageId, image: HOST_IMAGE, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() }
  })
  afterAll(async () => {
    await under[Symbol.asyncDispose]()
    await openCgroups({ root: cgroupRoot, everyHierarchy: true }).remove('')
    rmSync(folder, { recursive: true, force: true })
  })
  const scratch = podScratch(() => under)
  const annotations = { [HOST_PATH_ANNOTATION]: app }

  test('runs a script of the developer with the node of the host', async () => {
    const security = { runAsUser: 1000, runAsGroup: 1000 }
    const { output } = await scratch().run(['node', 'server.js'], { security }, { annotations })
    expect(output).toBe(`/app 1000 ${process.version}\n`)
  })

  test('shows of the host what it must, and nothing to write', async () => {
    const script = 'exec 2>&1; cat /etc/shadow; ls /root /home; touch /usr/x; touch /app/x; touch /tmp/x && echo tmp'
    const { output } = await scratch().run(['sh', '-c', script], {}, { annotations })
    expect(output).toContain('No such file or directory')
    expect(output).toContain('/root:\n')
    expect(output.match(/Read-only file system/g)).toHaveLength(2)
    expect(output).toMatch(/tmp\n$/)
  })

  test('a folder that is not there is an error', async () => {
    const start = scratch().start(['true'], {}, { annotations: { [HOST_PATH_ANNOTATION]: '/no/such/app' } })
    await expect(start).rejects.toThrow('/no/such/app')
  })
})
