/**
 * What the executables run. The build makes one file of it, whose compiled code can be kept between starts; a part is
 * evaluated when somebody asks for it.
 */
export const runCli = async (argv: readonly string[], serverEntry: string): Promise<void> =>
  (await import('../cli/main.ts')).runCli(argv, serverEntry)

export const runDetachedServer = async (started: () => void): Promise<void> =>
  (await import('../cli/detached-server.ts')).runDetachedServer(started)

export const runNode = async (started: () => void): Promise<void> =>
  (await import('../cli/node-process.ts')).runNode(started)
