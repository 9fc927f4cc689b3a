import { type Condition, withCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { RemainingContent } from './content.ts'

/** What a condition says while nothing is wrong; these conditions are True when something is. */
const FINE: readonly Condition[] = [
  fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
  fine(
    'NamespaceDeletionGroupVersionParsingFailure',
    'ParsedGroupVersions',
    'All legacy kube types successfully parsed',
  ),
  fine(
    'NamespaceDeletionContentFailure',
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
  ),
  fine('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'),
  fine('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'),
]

function fine(type: string, reason: string, message: string): Condition {
  return { type, status: 'False', reason, message }
}

/** The conditions of a namespace that is being emptied; the same array if nothing changed. */
export function conditionsOf(
  known: readonly Condition[],
  remaining: RemainingContent,
  now: number,
): readonly Condition[] {
  const problems = new Map(problemsOf(remaining).map((condition) => [condition.type, condition]))
  const time = formatTime(now)
  return FINE.reduce((list, ok) => withCondition(list, problems.get(ok.type) ?? ok, time), known)
}

function problemsOf({ objects, finalizers, errors }: RemainingContent): Condition[] {
  const problems: Condition[] = []
  const problem = (type: string, reason: string, message: string) =>
    problems.push({ type, status: 'True', reason, message })
  if (errors.length > 0) {
    const messages = errors.map(({ message }) => message).sort()
    problem(
      'NamespaceDeletionContentFailure',
      'ContentDeletionFailed',
      `Failed to delete all resource types, ${errors.length} remaining: ${messages.join(', ')}`,
    )
  }
  if (objects.size > 0) {
    const lines = [...objects].map(([type, n]) => `${type.plural}.${type.group} has ${n} resource instances`).sort()
    problem('NamespaceContentRemaining', 'SomeResourcesRemain', `Some resources are remaining: ${lines.join(', ')}`)
  }
  if (finalizers.size > 0) {
    const lines = [...finalizers].map(([finalizer, n]) => `${finalizer} in ${n} resource instances`).sort()
    const message = `Some content in the namespace has finalizers remaining: ${lines.join(', ')}`
    problem('NamespaceFinalizersRemaining', 'SomeFinalizersRemain', message)
  }
  return problems
}
