import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { http2Fields, sendHttp2 } from './smuggling-client.ts'
import { FLUNDERS, MALLORY, SmugglingLab } from './smuggling-lab.ts'

let lab: SmugglingLab
beforeAll(async () => {
  lab = await SmugglingLab.start()
})
afterAll(() => lab?.[Symbol.asyncDispose]())
beforeEach(() => lab.extension.reset())

const FORGED = `GET ${FLUNDERS}/stolen HTTP/1.1\r\nhost: x\r\nx-remote-user: admin\r\nx-remote-group: system:masters\r\n\r\n`

describe('a body of another length than announced', () => {
  test('too long', async () => {
    const outcome = await sendHttp2(
      lab.target,
      http2Fields('POST', FLUNDERS, [lab.bearer, ['content-length', '2']]),
      ['{}', FORGED],
      { leaveOpen: true },
    )
    const canary = await lab.cluster.api.get(FLUNDERS)
    console.log(
      outcome,
      canary.status,
      canary.text,
      lab.extension.seen.map(({ line, user, groups }) => [line, user, groups]),
      lab.extension.malformed,
    )
    expect(lab.extension.seen.filter(({ line }) => line.includes('stolen'))).toEqual([])
    expect(MALLORY).toBeTruthy()
  })
})
