import { describe, expect, it } from 'vitest'
import { KeyLock } from './key-lock.ts'

describe('KeyLock', () => {
  it('runs the work of one key in order, never two at once', async () => {
    const lock = new KeyLock()
    const log: string[] = []
    const work = (name: string) => async () => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
    }
    await Promise.all([lock.run('k', work('a')), lock.run('k', work('b')), lock.run('k', work('c'))])
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('lets different keys run side by side', async () => {
    const lock = new KeyLock()
    let release = () => {}
    const blocked = lock.run('slow', () => new Promise<void>((resolve) => (release = resolve)))
    expect(await lock.run('fast', async () => 'done')).toBe('done')
    release()
    await blocked
  })

  it('goes on after a failure', async () => {
    const lock = new KeyLock()
    const failing = lock.run('k', () => Promise.reject(new Error('no')))
    const next = lock.run('k', async () => 'yes')
    await expect(failing).rejects.toThrow('no')
    expect(await next).toBe('yes')
  })
})
