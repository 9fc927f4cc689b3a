/** Writes a line for each query. */
import { noOptions, oneOf, unknownOption, zoneOf } from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'
import { type DnsRequest, nothingHeld, type PluginKind, whenAnswered } from '../../plugin.ts'
import { RCODES, rcodeName, typeName } from '../../wire/constants.ts'
import type { Reply } from '../../wire/message.ts'
import { isWithin } from '../../wire/names.ts'

const CLASSES = ['all', 'success', 'denial', 'error'] as const
type ResponseClass = Exclude<(typeof CLASSES)[number], 'all'>

export const logKind: PluginKind = {
  name: 'log',
  setup(directive, { log, clock }) {
    const zones = directive.args.filter((arg) => !arg.includes('{')).map((zone) => zoneOf(directive, zone))
    const classes = classesOf(directive)
    const isWanted = ({ name }: DnsRequest['question']) =>
      zones.length === 0 || zones.some((zone) => isWithin(name, zone))
    return {
      name: 'log',
      seesAll: true,
      answer(request, next) {
        if (!isWanted(request.question)) return next()
        const start = clock.now()
        return whenAnswered(next(), (reply) => {
          if (classes.has(classOf(reply))) log.info(lineOf(request, reply, clock.now() - start))
          return reply
        })
      },
      ...nothingHeld,
    }
  },
}

function classesOf({ options }: Directive): ReadonlySet<ResponseClass> {
  const wanted = options.flatMap((option) => {
    if (option.name !== 'class') unknownOption('log', option)
    noOptions(option)
    return option.args.map((arg) => oneOf(option, arg, CLASSES))
  })
  if (wanted.length === 0 || wanted.includes('all')) return new Set(['success', 'denial', 'error'])
  return new Set(wanted.filter((one) => one !== 'all'))
}

function classOf({ rcode, answers }: Reply): ResponseClass {
  if (rcode === RCODES.NXDOMAIN || (rcode === RCODES.NOERROR && answers.length === 0)) return 'denial'
  return rcode === RCODES.NOERROR ? 'success' : 'error'
}

/** `10.244.0.5 - 4711 "A IN web.shop.svc.cluster.local. udp false 1232" NOERROR 1 0.001s` */
function lineOf({ client, query, question, transport }: DnsRequest, { rcode, answers }: Reply, took: number): string {
  const { edns, asked, id } = query
  const what = `${typeName(question.type)} IN ${asked}. ${transport} ${edns?.dnssecOk ?? false} ${edns?.udpSize ?? 512}`
  return `${client} - ${id} "${what}" ${rcodeName(rcode)} ${answers.length} ${(took / 1000).toFixed(3)}s`
}
