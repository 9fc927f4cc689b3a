import { describe, expect, test } from 'vitest'
import type { PodScratch } from './pod-scratch.contract.ts'
import type { ContainerEvent } from './runtime.ts'

const FOREVER = ['sleep', '1000']

export function lifecycleContract(scratch: () => PodScratch): void {
  describe('sandboxes', () => {
    test('live from run to remove', async () => {
      const { runtime, sandbox } = scratch()
      const { id, config } = await sandbox({ labels: { app: 'web' } })
      const status = await runtime.podSandboxStatus(id)
      expect(status).toMatchObject({ id, state: 'READY', metadata: config.metadata, labels: { app: 'web' } })
      await runtime.stopPodSandbox(id)
      expect((await runtime.podSandboxStatus(id)).state).toBe('NOTREADY')
      await runtime.removePodSandbox(id)
      await expect(runtime.podSandboxStatus(id)).rejects.toMatchObject({ code: 'NotFound' })
    })

    test('may be stopped and removed twice', async () => {
      const { runtime, sandbox } = scratch()
      const { id } = await sandbox()
      for (let i = 0; i < 2; i++) await runtime.stopPodSandbox(id)
      for (let i = 0; i < 2; i++) await runtime.removePodSandbox(id)
      await runtime.stopPodSandbox(id)
    })

    test('are listed by id, state and label', async () => {
      const { runtime, sandbox } = scratch()
      const one = await sandbox({ labels: { app: 'one' } })
      const two = await sandbox({ labels: { app: 'two' } })
      await runtime.stopPodSandbox(two.id)
      const ids = async (filter: Parameters<typeof runtime.listPodSandbox>[0]) =>
        (await runtime.listPodSandbox(filter)).map(({ id }) => id)
      expect(await ids({ labels: { app: 'one' } })).toEqual([one.id])
      expect(await ids({ id: two.id })).toEqual([two.id])
      expect(await ids({ id: two.id, state: 'READY' })).toEqual([])
      expect(await ids({ state: 'NOTREADY' })).toContain(two.id)
    })

    test('take their containers with them', async () => {
      const { runtime, sandbox, container } = scratch()
      const { id: sandboxId, config } = await sandbox()
      const id = await runtime.createContainer(sandboxId, container(FOREVER), config)
      await runtime.startContainer(id)
      await runtime.stopPodSandbox(sandboxId)
      expect((await runtime.containerStatus(id)).state).toBe('EXITED')
      await runtime.removePodSandbox(sandboxId)
      await expect(runtime.containerStatus(id)).rejects.toMatchObject({ code: 'NotFound' })
    })

    test('that have stopped take no containers', async () => {
      const { runtime, sandbox, container } = scratch()
      const { id, config } = await sandbox()
      await runtime.stopPodSandbox(id)
      await expect(runtime.createContainer(id, container(FOREVER), config)).rejects.toThrow(
        /not running|no running task/,
      )
      await expect(runtime.createContainer('nowhere', container(FOREVER), config)).rejects.toMatchObject({
        code: 'NotFound',
      })
    })
  })

  describe('containers', () => {
    test('are created, run, exit and go', async () => {
      const { runtime, sandbox, container } = scratch()
      const { id: sandboxId, config } = await sandbox()
      const labels = { name: 'web' }
      const id = await runtime.createContainer(sandboxId, container(FOREVER, { labels, attempt: 2 }), config)
      expect(await runtime.containerStatus(id)).toMatchObject({ state: 'CREATED', sandboxId, attempt: 2, labels })
      await runtime.startContainer(id)
      const running = await runtime.containerStatus(id)
      expect(running).toMatchObject({ state: 'RUNNING' })
      expect(running.startedAt).toBeGreaterThanOrEqual(running.createdAt)
      await runtime.stopContainer(id, 0)
      const exited = await runtime.containerStatus(id)
      expect(exited.state).toBe('EXITED')
      expect(exited.exitCode).toEqual(expect.any(Number))
      expect(exited.finishedAt).toBeGreaterThanOrEqual(Math.floor(running.startedAt!))
      await runtime.removeContainer(id)
      await expect(runtime.containerStatus(id)).rejects.toMatchObject({ code: 'NotFound' })
    })

    test('may be stopped and removed twice, and removed while they run', async () => {
      const { runtime, start } = scratch()
      const id = await start(FOREVER)
      for (let i = 0; i < 2; i++) await runtime.stopContainer(id, 0)
      for (let i = 0; i < 2; i++) await runtime.removeContainer(id)
      await runtime.removeContainer(await start(FOREVER))
    })

    test('start once', async () => {
      const { runtime, start } = scratch()
      const id = await start(FOREVER)
      await expect(runtime.startContainer(id)).rejects.toMatchObject({ code: 'FailedPrecondition' })
      expect((await runtime.containerStatus(id)).state).toBe('RUNNING')
    })

    test('are listed by sandbox, state and label', async () => {
      const { runtime, sandbox, container } = scratch()
      const { id: sandboxId, config } = await sandbox()
      const one = await runtime.createContainer(sandboxId, container(FOREVER, { labels: { c: 'one' } }), config)
      const two = await runtime.createContainer(
        sandboxId,
        container(FOREVER, { name: 'b', logPath: 'b/0.log' }),
        config,
      )
      await runtime.startContainer(two)
      const ids = async (filter: Parameters<typeof runtime.listContainers>[0]) =>
        (await runtime.listContainers(filter)).map(({ id }) => id).sort()
      expect(await ids({ sandboxId })).toEqual([one, two].sort())
      expect(await ids({ sandboxId, state: 'RUNNING' })).toEqual([two])
      expect(await ids({ labels: { c: 'one' } })).toEqual([one])
      expect(await ids({ id: one, state: 'RUNNING' })).toEqual([])
    })

    test('tell of their life', async () => {
      const { runtime, start } = scratch()
      const stop = new AbortController()
      const seen: ContainerEvent[] = []
      const events = runtime.events(stop.signal)
      const reading = (async () => {
        for await (const event of events) seen.push(event)
      })()
      const id = await start(FOREVER)
      await runtime.stopContainer(id, 0)
      await runtime.removeContainer(id)
      const types = () => seen.filter(({ containerId }) => containerId === id).map(({ type }) => type)
      await expect.poll(types).toEqual(['CREATED', 'STARTED', 'STOPPED', 'DELETED'])
      stop.abort()
      await reading
    })

    test('of an image that is not here are refused', async () => {
      const { runtime, sandbox, container } = scratch()
      const { id, config } = await sandbox()
      const missing = container(FOREVER, { imageId: 'sha256:missing' })
      await expect(runtime.createContainer(id, missing, config)).rejects.toMatchObject({ code: 'NotFound' })
    })
  })
}
