import { expect, it } from 'vitest'
import { UserError } from '../user-error.ts'
import { explainFailure } from './explain-failure.ts'

const settings = { instance: { name: 'x', context: 'x', dataDir: '/data' }, configuration: { apiPort: 7443 } }

it.each([
  ['EADDRINUSE', 'listen EADDRINUSE', 'port 7443 is taken by another program'],
  ['EACCES', 'listen EACCES', 'may not listen on port 7443'],
  ['EACCES', 'open EACCES', '/data cannot be used'],
  ['EPERM', 'mkdir EPERM', '/data cannot be used'],
  ['ENOSPC', 'write', 'the disk under /data is full'],
])('explains %s (%s) with a hint', (code, message, sentence) => {
  const explained = explainFailure(Object.assign(new Error(message), { code }), settings)
  expect(explained.message).toContain(sentence)
  expect(explained.hints.length).toBeGreaterThan(0)
})

it('leaves a failure that explains itself as it is', () => {
  const error = new UserError('no', ['Try this.'])
  expect(explainFailure(error, settings)).toBe(error)
})

it('repeats the message of any other failure', () => {
  expect(explainFailure(new Error('strange'), settings)).toMatchObject({ message: 'strange', hints: [] })
})
