import { CHECK, openPlan, type Plan } from './shape-plan.ts'

/** Clients know these messages from the upstream server's decoder, so a wrong type is worded as that one words it. */
export function goTypeError(root: Plan, path: readonly (string | number)[], expected: Plan, value: unknown): string {
  const { struct, fields } = goField(root, path)
  const where = struct === '' ? 'Go value' : `Go struct field ${struct}.${fields.join('.')}`
  return `json: cannot unmarshal ${goValue(expected, value)} into ${where} of type ${goType(expected)}`
}

/** The struct that has the field, and the names of the fields that lead to it: neither map keys nor indexes. */
function goField(root: Plan, path: readonly (string | number)[]): { struct: string; fields: string[] } {
  let plan: Plan | undefined = root
  let struct = ''
  const fields: string[] = []
  for (const step of path) {
    if (typeof step === 'number') plan = plan?.items
    else if (plan?.fields?.has(step)) {
      struct = typeName(plan)
      fields.push(step)
      plan = plan.fields.get(step)
    } else plan = plan?.values
  }
  return { struct, fields }
}

function goValue(expected: Plan, value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' && expected.check === CHECK.integer) return `number ${value}`
  return typeof value
}

const typeName = (plan: Plan) => plan.schema.definition?.split('.').at(-1) ?? ''

function goType(plan: Plan): string {
  if (!plan.isOpen) openPlan(plan)
  switch (plan.check) {
    case CHECK.string:
      return 'string'
    case CHECK.integer:
      return plan.schema.format ?? 'int64'
    case CHECK.number:
      return 'float64'
    case CHECK.boolean:
      return 'bool'
    case CHECK.bytes:
      return '[]uint8'
    case CHECK.list:
      return `[]${plan.items ? goType(plan.items) : 'interface {}'}`
    case CHECK.map:
      return plan.values?.check === CHECK.quantity
        ? 'v1.ResourceList'
        : `map[string]${plan.values ? goType(plan.values) : 'string'}`
    case CHECK.object:
      return plan.schema.definition?.split('.').slice(-2).join('.') ?? 'map[string]interface {}'
    default:
      return 'string'
  }
}
