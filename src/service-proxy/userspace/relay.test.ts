import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { relayContract } from './relay.contract.ts'
import { startNodeRelay, startRelay } from './start-relay.ts'

const options = { clock: systemClock, log: silentLogger }

relayContract('on sockets of Node', () => startNodeRelay(options))
relayContract('by epoll and splice', () => startRelay(options))
