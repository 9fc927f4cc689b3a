import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askControl, type ControlHandlers, controlSocketPath, serveControl } from './control-socket.ts'

const PARTS = [{ name: 'store', state: 'running', since: 1 }] as const
const handlers: ControlHandlers = {
  async snapshot(file) {
    if (file === '') throw new Error('no file')
    return { revision: file.length }
  },
  status: async () => ({ revision: 1, residentBytes: 2, uptimeSeconds: 3, parts: PARTS }),
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sampan-control-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each(['', `${'d'.repeat(60)}/${'e'.repeat(60)}`])('a control socket below "%s"', (below) => {
  it('answers until it is closed', async () => {
    const path = controlSocketPath(join(folder, below))
    const served = await serveControl(path, handlers)
    expect(await askControl(path, 'snapshot', 'abc')).toEqual({ revision: 3 })
    expect(await askControl(path, 'status')).toEqual({ revision: 1, residentBytes: 2, uptimeSeconds: 3, parts: PARTS })
    await expect(askControl(path, 'snapshot')).rejects.toThrow('no file')
    await served[Symbol.asyncDispose]()
    expect(existsSync(path)).toBe(false)
    await expect(askControl(path, 'status')).rejects.toThrow()
  })
})

it.each(['["dance"]\n', 'nonsense\n', '{}\n'])('answers %j with an error', async (request) => {
  const path = controlSocketPath(folder)
  const served = await serveControl(path, handlers)
  const socket = connect({ path })
  socket.write(request)
  expect(JSON.parse(await text(socket))).toEqual({ error: expect.any(String) })
  await served[Symbol.asyncDispose]()
})
