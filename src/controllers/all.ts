import type { Controller, ControllerContext } from './controller.ts'

/** Every controller of the control plane, by name. One line each. */
export const controllers: Readonly<Record<string, (context: ControllerContext) => Controller>> = {}
