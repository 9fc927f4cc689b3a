import type { SocketDiagnostics, SocketInfo } from '../socket-diagnostics.ts'
import { LinuxError } from '../system-error.ts'
import { ENOENT } from './errors.ts'

export class FakeSocketsState {
  sockets: SocketInfo[] = []
  private nextCookie = 1n

  add(socket: Omit<SocketInfo, 'cookie'>): void {
    this.sockets = [...this.sockets, { ...socket, cookie: this.nextCookie++ }]
  }
}

export function openFakeSocketDiagnostics(state: FakeSocketsState): SocketDiagnostics {
  return {
    list: (protocol, family) =>
      state.sockets.filter((socket) => socket.protocol === protocol && socket.family === family),
    destroy(socket) {
      const left = state.sockets.filter(({ cookie }) => cookie !== socket.cookie)
      if (left.length === state.sockets.length) throw new LinuxError(ENOENT, `destroy socket ${socket.localPort}`)
      state.sockets = left
    },
    [Symbol.dispose]: () => {},
  }
}
