import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { relayContract } from './relay.contract.ts'
import { WorkerRelay } from './worker-relay.ts'

relayContract('on sockets of Node', () => new WorkerRelay({ clock: systemClock, log: silentLogger }))
