/** What goes wrong further down is told in the log, and the client is told that something did. */
import { CorefileError } from '../../corefile/corefile-error.ts'
import { duration, noArguments, unknownOption } from '../../corefile/options.ts'
import { emptyReply, nothingHeld, type PluginContext, type PluginKind } from '../../plugin.ts'
import { RCODES, typeName } from '../../wire/constants.ts'

export const errorsKind: PluginKind = {
  name: 'errors',
  setup(directive, context) {
    noArguments(directive)
    const consolidated = directive.options
      .filter(({ name }) => name !== 'stacktrace')
      .map((option) => {
        if (option.name !== 'consolidate') unknownOption('errors', option)
        return consolidation(option, context)
      })
    return {
      name: 'errors',
      answer(request, next) {
        const failed = (error: unknown) => {
          const { name, type } = request.question
          const text = `${name}. ${typeName(type)}: ${error instanceof Error ? error.message : error}`
          if (!consolidated.some((group) => group(text))) context.log.error(text)
          return emptyReply(RCODES.SERVFAIL)
        }
        try {
          const answer = next()
          return answer instanceof Promise ? answer.catch(failed) : answer
        } catch (error) {
          return failed(error)
        }
      },
      ...nothingHeld,
    }
  },
}

/** `consolidate 5m ".* i/o timeout$"`: so many of that kind, once in a while, instead of each. */
function consolidation(
  option: Parameters<typeof unknownOption>[1],
  { clock, log }: PluginContext,
): (text: string) => boolean {
  const period = duration(option, option.args[0])
  const pattern = regularExpression(option, option.args[1] ?? '')
  let count = 0
  return (text) => {
    if (!pattern.test(text)) return false
    if (count++ === 0) {
      clock
        .after(period, () => {
          log.error(`${count} errors like '${option.args[1]}' occurred in last ${option.args[0]}`)
          count = 0
        })
        .unref()
    }
    return true
  }
}

function regularExpression({ line }: { readonly line: number }, text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw new CorefileError(line, `'${text}' is not a regular expression`)
  }
}
