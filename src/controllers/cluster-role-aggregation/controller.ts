import type { ClusterRole, PolicyRule } from '../../api/generated/rbac-v1.ts'
import { clusterRoleKind } from '../../api/kinds/rbac/cluster-role.ts'
import { compileLabelSelector, type LabelSelector } from '../../api/meta/label-selector.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

const AGGREGATED = 'cluster-role-aggregation/aggregated'
const FIELD_MANAGER = 'clusterrole-aggregation-controller'

/** Gives aggregated ClusterRoles the rules of all roles that they select. */
export function clusterRoleAggregationController({ client, informers }: ControllerContext): Controller {
  const roles = informers.informer(clusterRoleKind, {
    indexes: { [AGGREGATED]: aggregated },
  })

  function rulesFor(role: ClusterRole): PolicyRule[] {
    const rules = new Map<string, PolicyRule>()
    for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
      const selected = roles.list(compileLabelSelector(selector as LabelSelector))
      for (const other of selected.sort(byName)) {
        if (other.metadata.name === role.metadata.name) continue
        for (const rule of other.rules ?? []) getOrCreate(rules, meaningOf(rule), () => rule)
      }
    }
    return [...rules.values()]
  }

  return {
    name: FIELD_MANAGER,
    watches: [
      // Any role may be selected; there are few aggregated ones.
      watch(roles, () => roles.byIndex(AGGREGATED, 'true').flatMap((role) => ownKey(undefined, role))),
    ],
    async reconcile(name) {
      const role = roles.get(name)
      if (!role?.aggregationRule) return
      const rules = rulesFor(role)
      if (deepEqual(rules, role.rules ?? [])) return
      await client.resource(clusterRoleKind).update({ ...role, rules }, { fieldManager: FIELD_MANAGER })
    },
  }
}

/** The same text for rules that say the same, whatever the order of their fields. */
const meaningOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs])

const aggregated = ({ aggregationRule }: ClusterRole) => (aggregationRule ? ['true'] : [])
const byName = (a: ClusterRole, b: ClusterRole) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
