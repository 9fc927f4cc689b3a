/** Rights that look like others, and must not be taken for them: for each, what it gives and what it does not. */
import { afterAll, beforeAll, describe } from 'vitest'
import { APPLY, AskedCluster, WEB_SOCKET } from './asking.ts'
import { core, everywhere, matrix, of, row } from './rights.ts'

let cluster: AskedCluster

beforeAll(async () => {
  cluster = await AskedCluster.start()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'own' } })
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  for (const name of ['known', 'password'])
    await cluster.make('/api/v1/namespaces/own/secrets', { metadata: { name }, stringData: { a: 'hunter2' } })
  for (const namespace of ['own', 'other'])
    await cluster.make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
  await cluster.make('/api/v1/namespaces/own/configmaps', { metadata: { name: 'c' } })
  await cluster.make('/api/v1/nodes', { metadata: { name: 'n' } })
  const containers = [{ name: 'c', image: 'i' }]
  await cluster.make('/api/v1/namespaces/own/pods', { metadata: { name: 'p' }, spec: { containers, nodeName: 'n' } })
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers } }
  const spec = { selector: { matchLabels: { a: 'b' } }, template }
  await cluster.make('/apis/apps/v1/namespaces/own/deployments', { metadata: { name: 'd' }, spec })
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

const at = (path: string) => `/api/v1/namespaces/own/${path}`
describe('a name', () => {
  const list = at('secrets')
  const named = `${list}?fieldSelector=metadata.name%3Dknown`
  const other = `${list}?fieldSelector=metadata.name%3Dpassword`
  const all = core('secrets', 'get list watch delete deletecollection', ['known'])
  matrix(
    () => cluster,
    [
      row('a right to one secret gets it', all, `GET ${list}/known`, 200),
      row('a right to one secret does not get another', all, `GET ${list}/password`, 403),
      row('a right to list one secret lists it by its name', all, `GET ${named}`, 200),
      row('a right to list one secret does not list all', all, `GET ${list}`, 403),
      row('a right to list one secret does not list another', all, `GET ${other}`, 403),
      row(
        'a right to list one secret does not list all but another',
        all,
        `GET ${list}?fieldSelector=metadata.name!%3Dpassword`,
        403,
      ),
      row('a right to list one secret lists it by its name and type', all, `GET ${named}%2Ctype%3DOpaque`, 200),
      row('a right to list one secret does not list by labels', all, `GET ${list}?labelSelector=a%3Db`, 403),
      row(
        'a right to list one secret in a namespace does not list it in all namespaces',
        all,
        'GET /api/v1/secrets?fieldSelector=metadata.name%3Dknown',
        403,
      ),
      row('a right to watch one secret does not watch another', all, `GET ${other}&watch=true`, 403),
      row(
        'a right to watch one secret does not watch another by the older path',
        all,
        `GET /api/v1/watch/namespaces/own/secrets/password`,
        403,
      ),
      row('a right to delete one secret does not delete all', all, `DELETE ${list}?dryRun=All`, 403),
      row(
        'a right to create one name creates nothing, since the name is in the body',
        core('configmaps', 'create', ['x']),
        { ask: `POST ${at('configmaps')}`, body: { metadata: { name: 'x' } } },
        403,
      ),
    ],
  )
})

describe('a verb', () => {
  const list = at('configmaps')
  const body = { metadata: { name: 'new' } }
  const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...body }
  matrix(
    () => cluster,
    [
      row('get does not list', core('configmaps', 'get'), `GET ${list}`, 403),
      row('list does not get', core('configmaps', 'list'), `GET ${list}/c`, 403),
      row('list does not watch', core('configmaps', 'list'), `GET ${list}?watch=true`, 403),
      row('delete does not delete all', core('configmaps', 'delete'), `DELETE ${list}?dryRun=All`, 403),
      row(
        'deletecollection does not delete one',
        core('configmaps', 'deletecollection'),
        `DELETE ${list}/c?dryRun=All`,
        403,
      ),
      row('update does not patch', core('configmaps', 'update'), { ask: `PATCH ${list}/c`, body: { data: {} } }, 403),
      row(
        'patch does not update',
        core('configmaps', 'patch get'),
        { ask: `PUT ${list}/c`, body: { metadata: { name: 'c' } } },
        403,
      ),
      row(
        'patch does not create by apply',
        core('configmaps', 'patch get'),
        { ask: `PATCH ${list}/new?fieldManager=m`, body: applied, headers: APPLY },
        403,
        'cannot create',
      ),
      row(
        'update does not create a lease',
        of('coordination.k8s.io', 'leases', 'update get'),
        { ask: 'PUT /apis/coordination.k8s.io/v1/namespaces/own/leases/new', body },
        403,
        'cannot create',
      ),
      row('create as a dry run needs create', core('configmaps', 'get'), { ask: `POST ${list}?dryRun=All`, body }, 403),
      row('all verbs are all', core('configmaps', '*'), `DELETE ${list}?dryRun=All`, 200),
      row('all verbs are not other resources', core('configmaps', '*'), `GET ${at('secrets')}`, 403),
    ],
  )
  matrix(
    () => cluster,
    [everywhere(row('paths are no resources', { nonResourceURLs: ['*'], verbs: ['*'] }, `GET ${list}`, 403))],
  )
  matrix(
    () => cluster,
    [
      everywhere(
        row('all resources are no paths', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }, 'GET /metrics', 403),
      ),
    ],
  )
  matrix(
    () => cluster,
    [
      everywhere(
        row('one path is not another', { nonResourceURLs: ['/healthz/*'], verbs: ['get'] }, 'GET /metrics', 403),
      ),
    ],
  )
})

describe('a subresource', () => {
  const scale = '/apis/apps/v1/namespaces/own/deployments/d/scale'
  const exec = `${at('pods/p/exec')}?command=sh&stdout=true`
  const webSocket = { headers: WEB_SOCKET }
  matrix(
    () => cluster,
    [
      row('pods are not pods/log', core('pods', '*'), `GET ${at('pods/p/log')}`, 403),
      row('pods are not pods/exec', core('pods', '*'), `POST ${exec}`, 403),
      row('pods are not pods/status', core('pods', '*'), { ask: `PATCH ${at('pods/p/status')}`, body: {} }, 403),
      row(
        'pods are not pods/ephemeralcontainers',
        core('pods', '*'),
        { ask: `PATCH ${at('pods/p/ephemeralcontainers')}`, body: {} },
        403,
      ),
      row('pods are not pods/resize', core('pods', '*'), { ask: `PATCH ${at('pods/p/resize')}`, body: {} }, 403),
      row('pods are not pods/eviction', core('pods', '*'), { ask: `POST ${at('pods/p/eviction')}`, body: {} }, 403),
      row('pods are not pods/binding', core('pods', '*'), { ask: `POST ${at('pods/p/binding')}`, body: {} }, 403),
      row('pods/* is not pods', core('pods/*', '*'), `GET ${at('pods/p')}`, 403),
      row('pods/status is not pods', core('pods/status', '*'), { ask: `PATCH ${at('pods/p')}`, body: {} }, 403),
      row('*/scale is the scale of deployments', of('apps', '*/scale', 'get'), `GET ${scale}`, 200),
      row(
        '*/scale is no deployment',
        of('apps', '*/scale', 'get'),
        'GET /apis/apps/v1/namespaces/own/deployments/d',
        403,
      ),
      row(
        'deployments/scale of another group is not it',
        of('extensions', 'deployments/scale', 'get'),
        `GET ${scale}`,
        403,
      ),
      row(
        'get of pods/exec does not run a command by WebSocket',
        core('pods/exec', 'get'),
        { ask: `GET ${exec}`, ...webSocket },
        403,
        'cannot create resource',
      ),
      row(
        'get of pods/exec does not run a command',
        core('pods/exec', 'get'),
        `GET ${exec}`,
        403,
        'cannot create resource',
      ),
      row(
        'get of pods/attach does not attach',
        core('pods/attach', 'get'),
        { ask: `GET ${at('pods/p/attach')}?stdout=true`, ...webSocket },
        403,
        'cannot create resource',
      ),
      row(
        'get of pods/portforward does not forward',
        core('pods/portforward', 'get'),
        { ask: `GET ${at('pods/p/portforward')}?ports=80`, ...webSocket },
        403,
        'cannot create resource',
      ),
      row(
        'create of pods/exec alone does not run a command by GET',
        core('pods/exec', 'create'),
        { ask: `GET ${exec}`, ...webSocket },
        403,
        'cannot get resource',
      ),
      row('pods/proxy is not services/proxy', core('pods/proxy', '*'), `GET ${at('services/s/proxy/')}`, 403),
      row('nodes/proxy in a namespace is nothing', core('nodes/proxy', '*'), 'GET /api/v1/nodes/n/proxy/pods', 403),
      row(
        'serviceaccounts are not their tokens',
        core('serviceaccounts', '*'),
        { ask: `POST ${at('serviceaccounts/default/token')}`, body: { spec: {} } },
        403,
      ),
      row(
        'a token of one account is not of another',
        core('serviceaccounts/token', 'create', ['ci']),
        { ask: `POST ${at('serviceaccounts/default/token')}`, body: { spec: {} } },
        403,
      ),
      row(
        'tokens of one namespace are not of another',
        core('serviceaccounts/token', 'create'),
        { ask: 'POST /api/v1/namespaces/other/serviceaccounts/default/token', body: { spec: {} } },
        403,
      ),
      row(
        'finalizers of a namespace are not its own to change',
        core('namespaces', '*'),
        { ask: 'PUT /api/v1/namespaces/own/finalize', body: { metadata: { name: 'own' } } },
        403,
      ),
    ],
  )
  matrix(
    () => cluster,
    [
      everywhere(row('nodes are not nodes/proxy', core('nodes', '*'), 'GET /api/v1/nodes/n/proxy/pods', 403)),
      everywhere(
        row(
          'get of nodes/proxy does not post',
          core('nodes/proxy', 'get'),
          'POST /api/v1/nodes/n/proxy/run/own/p/c?cmd=id',
          403,
        ),
      ),
      everywhere(
        row(
          'nodes/status is not nodes',
          core('nodes/status', '*'),
          { ask: 'PATCH /api/v1/nodes/n', body: { spec: { unschedulable: true } } },
          403,
        ),
      ),
      everywhere(
        row(
          'namespaces are not namespaces/finalize',
          core('namespaces', '*'),
          { ask: 'PUT /api/v1/namespaces/own/finalize', body: { metadata: { name: 'own' } } },
          403,
        ),
      ),
    ],
  )
})

describe('one object by two groups', () => {
  matrix(
    () => cluster,
    [
      row(
        'events are not those of events.k8s.io',
        core('events', '*'),
        'GET /apis/events.k8s.io/v1/namespaces/own/events',
        403,
      ),
      row('those of events.k8s.io are not events', of('events.k8s.io', 'events', '*'), `GET ${at('events')}`, 403),
      row(
        'horizontal pod autoscalers are of a group, not of a version',
        of('autoscaling', 'horizontalpodautoscalers', '*'),
        'GET /apis/autoscaling/v1/namespaces/own/horizontalpodautoscalers',
        200,
      ),
    ],
  )
})
