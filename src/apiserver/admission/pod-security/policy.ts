import { type FieldError, invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'

/** From the loosest to the strictest. */
export const LEVELS = ['privileged', 'baseline', 'restricted'] as const
export type Level = (typeof LEVELS)[number]

/** A level as it was in one minor version of Kubernetes. */
export interface LevelVersion {
  readonly level: Level
  /** The x of v1.x, or Infinity for the latest. */
  readonly minor: number
}

/** What a namespace asks of its pods: `enforce` refuses, `audit` writes down, `warn` tells whoever creates them. */
export interface Policy {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
}

export type Mode = keyof Policy
export type Labels = Readonly<Record<string, string>>

export const LABEL_PREFIX = 'pod-security.kubernetes.io/'
const LABELS = FieldPath.root('metadata').child('labels')
const LATEST = Number.POSITIVE_INFINITY
const PRIVILEGED: LevelVersion = { level: 'privileged', minor: LATEST }
export const ALL_PRIVILEGED: Policy = { enforce: PRIVILEGED, audit: PRIVILEGED, warn: PRIVILEGED }

export const levelOrder = (level: Level) => LEVELS.indexOf(level)
export const policyText = ({ level, minor }: LevelVersion) => `${level}:${minor === LATEST ? 'latest' : `v1.${minor}`}`
export const isSamePolicy = (a: LevelVersion, b: LevelVersion) => a.level === b.level && a.minor === b.minor
export const isAllPrivileged = ({ enforce, audit, warn }: Policy) =>
  enforce.level === 'privileged' && audit.level === 'privileged' && warn.level === 'privileged'

/** Reads the labels of a namespace. A level that cannot be read is the strictest for `enforce`, none for the others. */
export function policyOf(labels: Labels | undefined, defaults: Policy): { policy: Policy; errors: FieldError[] } {
  const errors: FieldError[] = []
  if (!labels) return { policy: defaults, errors }
  const enforce = read('enforce', labels, defaults.enforce, errors)
  const audit = read('audit', labels, defaults.audit, errors)
  let warn = read('warn', labels, defaults.warn, errors)
  const isToldByEnforce = labels[`${LABEL_PREFIX}warn`] === undefined && isLevel(labels[`${LABEL_PREFIX}enforce`] ?? '')
  // Templates are not refused: those who write one are at least warned of what their pods will meet.
  if (isToldByEnforce && levelOrder(enforce.level) > levelOrder(warn.level)) {
    const hasVersion = labels[`${LABEL_PREFIX}warn-version`] !== undefined
    warn = { level: enforce.level, minor: hasVersion ? warn.minor : enforce.minor }
  }
  return { policy: { enforce, audit, warn }, errors }
}

const isLevel = (text: string): text is Level => (LEVELS as readonly string[]).includes(text)

function read(mode: Mode, labels: Labels, defaults: LevelVersion, errors: FieldError[]): LevelVersion {
  let { level, minor } = defaults
  const [levelKey, versionKey] = [LABEL_PREFIX + mode, `${LABEL_PREFIX}${mode}-version`]
  const [levelText, versionText] = [labels[levelKey], labels[versionKey]]
  if (levelText !== undefined) {
    level = isLevel(levelText) ? levelText : mode === 'enforce' ? 'restricted' : 'privileged'
    if (!isLevel(levelText))
      errors.push(invalid(LABELS.key(levelKey), levelText, `must be one of ${LEVELS.join(', ')}`))
  }
  if (versionText !== undefined) {
    const parsed = parseMinor(versionText)
    minor = parsed ?? LATEST
    if (parsed === undefined) errors.push(invalid(LABELS.key(versionKey), versionText, 'must be "latest" or "v1.x"'))
  }
  return { level, minor }
}

function parseMinor(text: string): number | undefined {
  if (text === 'latest') return LATEST
  const minor = /^v1\.(0|[1-9]\d{0,8})$/.exec(text)?.[1]
  return minor === undefined ? undefined : Number(minor)
}
