/** What a plugin is: it answers a query, or lets the next one in the chain do so and may change what comes back. */
import type { Query, Question, Reply } from './wire/message.ts'

export interface DnsRequest {
  readonly query: Query
  readonly question: Question
  /** Who asks; the address without port. */
  readonly client: string
  readonly transport: 'udp' | 'tcp'
  /** Asks another question of the whole chain, for instance where an alias leads. */
  resolve(question: Question): Answer
}

/** Most answers are known at once; only what has to be fetched is waited for. */
export type Answer = Reply | Promise<Reply>

export interface DnsPlugin extends AsyncDisposable {
  readonly name: string
  answer(request: DnsRequest, next: () => Answer): Answer
  /** Undefined when the plugin can serve; else what it waits for. */
  notReady?(): string | undefined
}

const NOTHING: Pick<Reply, 'answers' | 'authority' | 'additional'> = { answers: [], authority: [], additional: [] }

/** A reply without records. */
export const emptyReply = (rcode: number, authoritative = false): Reply => ({ rcode, authoritative, ...NOTHING })

/** `work` on the reply, now or when it comes. */
export function whenAnswered(answer: Answer, work: (reply: Reply) => Reply): Answer {
  return answer instanceof Promise ? answer.then(work) : work(answer)
}
