import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { writeLarge } from './large-body.ts'
import { PacedWriter, PIECE_BYTES } from './paced-writer.ts'

/** A client that takes what it is sent when it is told to. */
class Client extends Writable {
  readonly taken: Buffer[] = []
  readonly sizes: number[] = []
  ended = false
  #take: (() => void) | undefined

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#hold([chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#hold(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: () => void): void {
    this.ended = true
    done()
  }

  /** Takes what is there, and is given time to get more. */
  async read(times = 1): Promise<void> {
    for (; times > 0; times--) {
      this.#take?.()
      await settled()
    }
  }

  #hold(chunks: Buffer[], done: () => void): void {
    this.sizes.push(chunks.reduce((sum, { length }) => sum + length, 0))
    this.#take = () => {
      this.#take = undefined
      // Whoever wrote them may use their memory again.
      this.taken.push(...chunks.map((chunk) => Buffer.from(chunk)))
      done()
    }
  }
}

const settled = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}
const bytes = (size: number) => Buffer.from(Array.from({ length: size }, (_, i) => i % 251))

describe('PacedWriter', () => {
  it('writes the next piece when the last one was taken, and what is small along with it', async () => {
    const client = new Client()
    const writer = new PacedWriter(client, client)
    const whole = bytes(2 * PIECE_BYTES)
    writer.end([Buffer.from('head'), whole, Buffer.from('tail')])
    await settled()
    expect(client.sizes).toEqual([PIECE_BYTES])
    expect(writer.waitingBytes).toBe(PIECE_BYTES + 8)
    await client.read(5)
    expect(client.sizes).toEqual([PIECE_BYTES, PIECE_BYTES, 8])
    expect(client.ended).toBe(true)
    const sent = Buffer.concat(client.taken)
    expect(sent.equals(Buffer.concat([Buffer.from('head'), whole, Buffer.from('tail')]))).toBe(true)
  })

  it('puts many small chunks together, and takes large ones as they are', async () => {
    const client = new Client()
    const objects = Array.from({ length: 1500 }, (_, i) => (i % 500 === 7 ? bytes(100_000) : bytes(i)))
    new PacedWriter(client, client).end(objects)
    await client.read(20)
    expect(client.ended).toBe(true)
    expect(client.taken.length).toBeLessThan(20)
    expect(Buffer.concat(client.taken).equals(Buffer.concat(objects))).toBe(true)
  })

  it('keeps the order of what is written meanwhile, and ends after it', async () => {
    const client = new Client()
    const writer = new PacedWriter(client, client)
    writer.write([bytes(PIECE_BYTES + 1)])
    expect(writer.isIdle).toBe(false)
    writer.write([Buffer.from('next')])
    await client.read(5)
    expect(writer.isIdle).toBe(true)
    writer.write([Buffer.from('last')])
    writer.end()
    await client.read(5)
    expect(client.ended).toBe(true)
    expect(
      Buffer.concat(client.taken)
        .subarray(PIECE_BYTES + 1)
        .toString(),
    ).toBe('nextlast')
  })

  it('lets connections take turns', async () => {
    const flood = Array.from({ length: 100 }, () => new Client())
    const [connection, other] = [{}, new Client()]
    const piece = bytes(PIECE_BYTES)
    for (const client of flood) new PacedWriter(client, connection).end([piece])
    new PacedWriter(other, {}).end([piece])
    await new Promise((resolve) => setImmediate(resolve))
    expect(other.sizes).toEqual([PIECE_BYTES])
    expect(flood.filter(({ sizes }) => sizes.length > 0).length).toBeLessThan(100)
    for (let i = 0; i < 20; i++) await settled()
    expect(flood.every(({ sizes }) => sizes[0] === PIECE_BYTES)).toBe(true)
  })
})

describe('writeLarge', () => {
  async function begin() {
    const [client, clock] = [new Client(), new VirtualClock(0)]
    let isDone = false
    void writeLarge(client, client, [bytes(3 * PIECE_BYTES)], clock).then(() => {
      isDone = true
    })
    await settled()
    return { client, clock, isDone: () => isDone }
  }

  it('is done when the last piece was taken', async () => {
    const { client, isDone } = await begin()
    await client.read(2)
    expect([isDone(), client.ended]).toEqual([false, false])
    await client.read(2)
    expect([isDone(), client.ended]).toEqual([true, true])
  })

  it('is done when the client has gone', async () => {
    const { client, isDone } = await begin()
    client.destroy()
    await settled()
    expect(isDone()).toBe(true)
  })

  it('does not wait for a client that does not read, and sends it the rest if it goes on', async () => {
    const { client, clock, isDone } = await begin()
    clock.advance(999)
    await client.read()
    clock.advance(999)
    await settled()
    expect(isDone()).toBe(false)
    clock.advance(1)
    await settled()
    expect(isDone()).toBe(true)
    await client.read(5)
    expect(client.ended).toBe(true)
    expect(client.sizes).toEqual([PIECE_BYTES, PIECE_BYTES, PIECE_BYTES])
  })

  it('cuts off a client that takes nothing for a minute', async () => {
    const { client, clock } = await begin()
    clock.advance(1000)
    await client.read()
    clock.advance(60_999)
    expect(client.destroyed).toBe(false)
    clock.advance(1)
    expect(client.destroyed).toBe(true)
  })
})
