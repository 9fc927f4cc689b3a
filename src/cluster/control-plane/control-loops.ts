import type { Part } from '../part.ts'
import type { ControlLoopPrograms, ControlPlane } from './control-plane.ts'

/** A quarter of the program: `sampan up` loads it after the API answers, the library before a start. */
const load = async ({ options }: ControlPlane): Promise<ControlLoopPrograms> =>
  options.controlLoopPrograms ?? (await import('./start-control-loops.ts'))

export const controllers: Part<ControlPlane> = {
  name: 'controllers',
  inBackground: true,
  isNeeded: ({ options }) => options.controllers !== false,
  start: async (plane) => (await load(plane)).startControllersOf(plane),
  stop: (plane) => plane.controllers?.[Symbol.asyncDispose](),
}

export const scheduler: Part<ControlPlane> = {
  name: 'scheduler',
  inBackground: true,
  isNeeded: ({ options }) => options.scheduler !== false,
  start: async (plane) => (await load(plane)).startSchedulerOf(plane),
  stop: (plane) => plane.scheduler?.[Symbol.asyncDispose](),
}

export const simulatedNodes: Part<ControlPlane> = {
  name: 'simulated nodes',
  inBackground: true,
  isNeeded: ({ options }) => (options.nodes ?? 0) !== 0,
  start: async (plane) => (await load(plane)).startSimulatedNodesOf(plane),
  stop: (plane) => plane.simulatedNodes?.[Symbol.asyncDispose](),
}
