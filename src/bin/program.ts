/**
 * What the executables run. The build makes one file of it, whose compiled code can be kept between starts; a part is
 * evaluated when it is first used.
 */
export const runCli = async (argv: readonly string[], serverEntry: string): Promise<void> =>
  (await import('../cli/main.ts')).runCli(argv, serverEntry)

export const runServer = async (started: () => void): Promise<void> =>
  (await import('../cluster/run-server.ts')).runServer(started)

export const runNode = async (started: () => void): Promise<void> =>
  (await import('../cluster/run-node.ts')).runNode(started)
