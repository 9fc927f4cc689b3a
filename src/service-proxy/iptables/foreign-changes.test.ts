import { expect, test } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { ForeignChanges } from './foreign-changes.ts'

function start() {
  const linux = fakeLinux()
  let made = 0
  const commit = () =>
    linux.openNftables().commit(new NftTransaction().addTable({ family: 'ip', name: `table-${made++}` }))
  const changes = new ForeignChanges(linux, undefined)
  let noticed = 0
  changes.onChange(() => noticed++)
  return { changes, commit, noticed: () => noticed }
}

test('what others commit is told', async () => {
  const { changes, commit, noticed } = start()
  using _ = changes
  await commit()
  await expect.poll(noticed).toBe(1)
})

test('what our own commands commit is not', async () => {
  const { changes, commit, noticed } = start()
  using _ = changes
  await changes.during(async () => {
    await commit()
    await commit()
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(noticed()).toBe(0)
  await commit()
  await expect.poll(noticed).toBe(1)
})

test('commands that fail end as ours as well', async () => {
  const { changes, commit, noticed } = start()
  using _ = changes
  await expect(
    changes.during(async () => {
      await commit()
      throw new Error('refused')
    }),
  ).rejects.toThrow('refused')
  await commit()
  await expect.poll(noticed).toBe(1)
})
