import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedStore, openEmbeddedStore } from '../src/store/embedded.ts'
import { etcd, hasEtcd, load, type Peer } from './children.ts'
import { cpuDuring, cpuMicroseconds, median } from './measure.ts'
import { printRows, type Row, us } from './report.ts'

/** Durable puts of 1.5 KB: the embedded store in this process, beside a real etcd over plain gRPC from another one. */

const SIZE = 1500
const WRITERS = [1, 16, 256]
const ROUNDS = 3
/** Puts in one round for each writer, so that a round takes about a second. */
const PUTS = { ours: { 1: 1500, 16: 16_000, 256: 60_000 }, etcd: { 1: 400, 16: 2000, 256: 6000 } }

interface Measured {
  perSecond: number
  /** Of the server: for the embedded store this process with its writers. */
  cpuPerPut: number
}

export async function benchStore(options: { quick?: boolean } = {}): Promise<Row[]> {
  const rows = [await restartRow(), ...(await putRows(options.quick ? 1 : ROUNDS))]
  printRows('Store: durable puts of 1.5 KB; beside: etcd', rows)
  return rows
}

async function putRows(rounds: number): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sampan-bench-store-'))
  const store = await openEmbeddedStore({ directory: folder })
  const peer = hasEtcd() ? await etcd() : undefined
  const rows: Row[] = []
  try {
    await putOurs(store, 256, 20_000)
    for (const writers of WRITERS as (keyof typeof PUTS.ours)[]) {
      const ours: Measured[] = []
      const beside: Measured[] = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await putOurs(store, writers, PUTS.ours[writers]))
        if (peer) beside.push(await putEtcd(peer, writers, PUTS.etcd[writers]))
      }
      rows.push(...rowsOf(writers, ours, beside))
    }
  } finally {
    await store[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }
  return rows
}

let written = 0

async function putOurs(store: EmbeddedStore, writers: number, count: number): Promise<Measured> {
  let left = count
  const value = Buffer.alloc(SIZE, 'x')
  const writer = async () => {
    while (left-- > 0) {
      const key = `/registry/configmaps/default/put-${written++ % 20_000}`
      await store.commit([], [{ key, value, revisionSlot: 100 }])
    }
  }
  const start = process.hrtime.bigint()
  const { cpu } = await cpuDuring(process.pid, () => Promise.all(Array.from({ length: writers }, writer)))
  return { perSecond: count / (Number(process.hrtime.bigint() - start) / 1e9), cpuPerPut: cpu / count }
}

async function putEtcd(peer: Peer, writers: number, count: number): Promise<Measured> {
  const before = cpuMicroseconds(peer.pid)
  written += count
  const job = { kind: 'etcd-put', server: peer.address, clients: writers, from: written, count, size: SIZE } as const
  const result = await load(job)
  return { perSecond: count / result.seconds, cpuPerPut: (cpuMicroseconds(peer.pid) - before) / count }
}

function rowsOf(writers: number, ours: Measured[], beside: Measured[]): Row[] {
  const rate = (measured: Measured[]) => median(measured.map(({ perSecond }) => perSecond))
  const cpu = (measured: Measured[]) => median(measured.map(({ cpuPerPut }) => cpuPerPut))
  const who = writers === 1 ? '1 writer' : `${writers} writers`
  return [
    {
      what: `${who}, puts per second`,
      ours: rate(ours).toFixed(0),
      peer: beside.length > 0 ? rate(beside).toFixed(0) : 'no etcd here',
      ratio: beside.length > 0 ? rate(ours) / rate(beside) : undefined,
      goal: writers === 256 ? 'at least 10' : 'more',
    },
    {
      what: `${who}, CPU per put`,
      ours: us(cpu(ours)),
      peer: beside.length > 0 ? us(cpu(beside)) : 'no etcd here',
      ratio: beside.length > 0 ? cpu(ours) / cpu(beside) : undefined,
      goal: 'less',
    },
  ]
}

/** How long it takes to open 100,000 objects again. */
async function restartRow(): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'sampan-bench-open-'))
  try {
    await fill(folder, 100_000)
    const start = process.hrtime.bigint()
    const store = await openEmbeddedStore({ directory: folder })
    const took = Number(process.hrtime.bigint() - start) / 1e6
    await store[Symbol.asyncDispose]()
    return { what: 'open 100,000 objects', ours: `${took.toFixed(0)} ms`, peer: '', goal: 'about 1 s' }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function fill(folder: string, count: number): Promise<void> {
  const store = await openEmbeddedStore({ directory: folder })
  const value = Buffer.alloc(SIZE, 'y')
  for (let i = 0; i < count; i += 1000) {
    const keys = Array.from({ length: 1000 }, (_, n) => `/registry/pods/default/pod-${i + n}`)
    await Promise.all(keys.map((key) => store.commit([], [{ key, value, revisionSlot: 100 }])))
  }
  await store[Symbol.asyncDispose]()
}
