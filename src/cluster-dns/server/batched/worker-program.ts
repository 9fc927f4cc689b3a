import { AnswerTable } from './answer-table.ts'
import { BatchLoop } from './batch-loop.ts'
import { JoinedSend } from './joined-send.ts'

/**
 * The worker as text: the same from sources, from a bundle and in tests, where a worker could not load TypeScript.
 * The classes are whole in themselves for that reason.
 */
export const workerProgram = () => `
'use strict'
const { parentPort, receiveMessageOnPort, workerData } = require('node:worker_threads')
const AnswerTable = ${AnswerTable.toString()}
const JoinedSend = ${JoinedSend.toString()}
const BatchLoop = ${BatchLoop.toString()}
const { seed, bufferSize, shared, layout } = workerData
const koffi = require(workerData.koffi)
const hits = new Float64Array(shared, layout.hitsAt, layout.hitSlots)
const table = new AnswerTable({ seed, size: bufferSize, hits })
const worker = { koffi, port: parentPort, takeMessage: receiveMessageOnPort, JoinedSend }
const loop = new BatchLoop(workerData, table, worker)
parentPort.postMessage('ready')
loop.run(() => koffi.errno())
parentPort.close()
`
