/** Asks another question than the client did, and answers as if it had not. */
import { CorefileError } from '../../corefile/corefile-error.ts'
import type { Directive } from '../../corefile/parse.ts'
import { type DnsPlugin, type DnsRequest, nothingHeld, type PluginKind, whenAnswered } from '../../plugin.ts'
import type { DnsRecord, Reply } from '../../wire/message.ts'
import { type Rule, ruleOf } from './rules.ts'

/** Each line of the Corefile is one plugin of its own; they are asked in order. */
export const rewriteKind: PluginKind = { name: 'rewrite', setup: (directive) => rewritePlugin(rulesOf(directive)) }

function rulesOf(directive: Directive): readonly Rule[] {
  if (directive.args.length > 0 && !(directive.args.length === 1 && directive.options.length > 0)) {
    return [ruleOf(directive)]
  }
  if (directive.options.length === 0) throw new CorefileError(directive.line, "'rewrite' wants a rule")
  const mode = directive.args
  return directive.options.map((option) => ruleOf({ ...option, args: [...mode, option.name, ...option.args] }))
}

export function rewritePlugin(rules: readonly Rule[]): DnsPlugin {
  return {
    name: 'rewrite',
    answer(request, next) {
      let { question } = request
      const applied: Rule[] = []
      for (const rule of rules) {
        const changed = rule.change(question)
        if (!changed) continue
        question = changed
        applied.push(rule)
        if (!rule.goesOn) break
      }
      if (applied.length === 0) return next()
      return whenAnswered(next(asking(request, question)), (reply) => undone(reply, request, question, applied))
    },
    ...nothingHeld,
  }
}

const asking = (request: DnsRequest, question: DnsRequest['question']): DnsRequest => ({
  ...request,
  question,
  query: { ...request.query, question, asked: question.name },
})

/** A client looks for records of the name it asked for. */
function undone(reply: Reply, request: DnsRequest, asked: DnsRequest['question'], rules: readonly Rule[]): Reply {
  const back = (record: DnsRecord): DnsRecord => {
    const changed = rules.reduce((known, rule) => rule.record?.(known) ?? known, record)
    return changed.name === asked.name ? { ...changed, name: request.question.name } : changed
  }
  return { ...reply, answers: reply.answers.map(back) }
}
