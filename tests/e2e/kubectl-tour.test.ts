import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ran, runProgram, startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { at, type Json } from '../tools/json.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'

/** One tour of kubectl through every verb that needs no running pod, walked by each kubectl we promise to serve. */

const MANIFESTS = path.join(import.meta.dirname, 'manifests')
const manifest = (name: string) => path.join(MANIFESTS, name)

if (!kubectlRunsHere && process.env.CI) throw new Error('CI is set, but there is no kubectl for this machine')
if (!kubectlRunsHere) console.log('skipping the kubectl tour: the binaries of the npm packages are for linux-x64')

describe.runIf(kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  const minor = Number(version.split('.')[1])
  let cluster: TestCluster
  let binary: string
  let folder: string

  beforeAll(async () => {
    binary = await kubectlOf(version)
    cluster = await startTestCluster({ controllers: false })
    folder = path.join(cluster.folder, 'work')
    mkdirSync(folder)
    await ok('create namespace tour')
    await ok('config set-context --current --namespace=tour')
  })

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  /** A command line, split at spaces; what has spaces itself comes as an extra argument. */
  const kubectl = (line: string, ...extra: string[]): Promise<Ran> =>
    runProgram(binary, [...line.split(' ').filter(Boolean), ...extra], cluster.env, { cwd: folder })

  async function ok(line: string, ...extra: string[]): Promise<string> {
    const ran = await kubectl(line, ...extra)
    if (ran.code !== 0)
      expect.fail(`kubectl ${line} ${extra.join(' ')} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }

  async function fails(line: string, ...extra: string[]): Promise<string> {
    const ran = await kubectl(line, ...extra)
    if (ran.code === 0) expect.fail(`kubectl ${line} ${extra.join(' ')} did not fail:\n${ran.stdout}${ran.stderr}`)
    return ran.stderr + ran.stdout
  }

  const json = async (line: string, ...extra: string[]): Promise<Json> =>
    JSON.parse(await ok(`${line} -o json`, ...extra)) as Json
  const file = (name: string, content: string | object) => {
    const full = path.join(folder, name)
    writeFileSync(full, typeof content === 'string' ? content : JSON.stringify(content))
    return full
  }

  test('version, api-versions, api-resources, cluster-info', async () => {
    expect(at(await json('version'), 'serverVersion.gitVersion')).toMatch(/^v1\.36\./)
    expect((await ok('api-versions')).split('\n')).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'batch/v1', 'autoscaling/v2', 'policy/v1']),
    )
    const resources = await ok('api-resources')
    expect(resources).toMatch(/^deployments +deploy +apps\/v1 +true +Deployment/m)
    expect(resources).toMatch(/^nodes +no +v1 +false +Node/m)
    expect(await ok('api-resources --verbs=list --namespaced=false -o name')).toMatch(/^persistentvolumes$/m)
    expect(await ok('api-resources --api-group=apps -o wide')).toMatch(/StatefulSet.*deletecollection/)
    expect(await ok('cluster-info')).toContain('is running at')
  })

  test('explain', async () => {
    expect(await ok('explain pods.spec.containers')).toContain('imagePullPolicy')
    expect(await ok('explain deployment.spec.replicas')).toMatch(/FIELD: +replicas <integer>/)
    expect(await ok('explain svc.spec --recursive')).toContain('externalTrafficPolicy')
    expect(await ok('explain hpa --api-version=autoscaling/v2')).toMatch(/VERSION: +(autoscaling\/)?v2/)
    expect(await fails('explain pods.spec.nonsense')).toContain('field "nonsense" does not exist')
  })

  test('create, every generator', async () => {
    const lines = [
      'create deployment web --image=nginx --replicas=2 --port=80',
      'create service clusterip plain --tcp=80:8080',
      'create service nodeport node --tcp=80',
      'create service loadbalancer balanced --tcp=80',
      'create service externalname outside --external-name=example.com',
      'create configmap settings --from-literal=a=1 --from-literal=b=2',
      'create secret generic password --from-literal=user=me',
      'create secret docker-registry pull --docker-username=u --docker-password=p --docker-server=r.example.com',
      'create role reader --verb=get,list --resource=pods,deployments.apps',
      'create rolebinding readers --role=reader --user=jane --group=team --serviceaccount=tour:default',
      'create clusterrole tour-reader --verb=get --resource=nodes',
      'create clusterrolebinding tour-readers --clusterrole=tour-reader --user=jane',
      'create ingress front --rule=example.com/path*=web:80,tls=cert --class=none',
      'create job once --image=busybox -- true',
      'create cronjob nightly --image=busybox --schedule=@daily -- true',
      'create quota limits --hard=configmaps=50,pods=100',
      'create poddisruptionbudget keep --selector=app=web --min-available=1',
      'create priorityclass tour-high --value=1000 --description=high',
      'create serviceaccount robot',
      'create namespace tour-second',
    ]
    for (const line of lines) expect(await ok(line)).toMatch(/ created$/m)
    expect(await fails('create namespace tour-second')).toContain(
      'Error from server (AlreadyExists): namespaces "tour-second" already exists',
    )
    expect(await ok('create deployment dry --image=x --dry-run=server -o name')).toBe('deployment.apps/dry\n')
    expect(await fails('get deployment dry')).toContain(
      'Error from server (NotFound): deployments.apps "dry" not found',
    )
    expect(await ok('create deployment dry --image=x --dry-run=client -o yaml')).toContain('kind: Deployment')
    expect(await ok('create job again --from=cronjob/nightly')).toContain('created')
    expect(await ok(`create -f ${manifest('many.yaml')}`)).toContain('configmap/many-1 created')
  })

  test('get in all outputs', async () => {
    expect(await ok('get deployments')).toMatch(/^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2 +0 +0 +\d+s/)
    expect(await ok('get deploy web -o wide')).toMatch(/CONTAINERS +IMAGES +SELECTOR\n.* nginx +nginx +app=web/)
    expect(await ok('get svc')).toMatch(/^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE/)
    expect(await ok('get svc node')).toMatch(/NodePort +[\d.]+ +<none> +80:3\d{4}\/TCP/)
    expect(await ok('get cm settings -o yaml')).toMatch(/^ {2}a: "1"$/m)
    expect(at(await json('get cm settings'), 'data.b')).toBe('2')
    expect(await ok('get cm,secret -o name')).toContain('configmap/settings\n')
    expect(await ok('get cm settings', '-o', 'jsonpath={.data.a}{"\\n"}')).toBe('1\n')
    expect(await ok('get cm settings', '-o', 'go-template={{.data.b}}')).toBe('2')
    expect(await ok('get cm settings', '-o', 'custom-columns=N:.metadata.name,A:.data.a')).toMatch(
      /^N +A\nsettings +1\n/,
    )
    expect(await ok('get cm --sort-by=.metadata.name -o name')).toMatch(/many-1\n(.*\n)*configmap\/settings/)
    expect(await ok('get cm --chunk-size=1 -o name')).toContain('configmap/settings')
    expect(await ok('get cm -l set=many --show-labels')).toContain('set=many')
    expect(await ok('get cm -L set')).toMatch(/^NAME +DATA +AGE +SET/)
    expect(await ok('get cm --field-selector=metadata.name=settings --no-headers')).toMatch(/^settings +2 +\d+s\n$/)
    expect(await ok('get all')).toContain('deployment.apps/web')
    expect(await ok('get cm -A')).toMatch(/^NAMESPACE +NAME/)
    expect(await ok('get ns')).toMatch(/^tour +Active/m)
    expect(JSON.parse(await ok('get --raw /api/v1/namespaces/tour/configmaps/settings'))).toMatchObject({
      kind: 'ConfigMap',
    })
    expect(await ok('get --raw /readyz')).toBe('ok')
    expect(await ok('get secret password -o jsonpath={.data.user}')).toBe('bWU=')
    expect(
      await ok(
        'get roles,rolebindings,ingress,job,cronjob,quota,pdb,sa,limitrange,netpol,hpa,sts,ds,rs,rc,pvc,ep,endpointslices,events,leases',
      ),
    ).toContain('cronjob.batch/nightly')
    expect(
      await ok(
        'get nodes,pv,sc,priorityclass,clusterrole,clusterrolebinding,ingressclass,csidriver,csinode,crd,apiservice,csr,runtimeclass,flowschema',
      ),
    ).toContain('tour-high')
    expect(await ok('get pods')).toBe('')
    expect(await fails('get nothings')).toContain(`the server doesn't have a resource type "nothings"`)
    expect(await fails('get pod missing')).toContain('Error from server (NotFound): pods "missing" not found')
  })

  test('get -w', async () => {
    const child = spawn(binary, ['get', 'configmaps', '-w', '-o', 'name'], {
      env: cluster.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let seen = ''
    child.stdout.on('data', (chunk) => {
      seen += chunk
    })
    try {
      await until(() => seen.includes('configmap/settings'))
      await ok('create configmap watched --from-literal=a=1')
      await until(() => seen.includes('configmap/watched'))
      await ok('delete configmap watched')
      await until(() => seen.split('configmap/watched').length > 2)
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('describe', async () => {
    const kinds = [
      'deployment/web',
      'service/node',
      'configmap/settings',
      'secret/password',
      'role/reader',
      'rolebinding/readers',
      'ingress/front',
      'job/once',
      'cronjob/nightly',
      'quota/limits',
      'pdb/keep',
      'priorityclass/tour-high',
      'serviceaccount/robot',
      'namespace/tour',
    ]
    for (const kind of kinds) expect(await ok(`describe ${kind}`)).toContain(`Name:  `)
    expect(await ok('describe cm')).toContain('settings')
    expect(await fails('describe pod missing')).toContain('NotFound')
  })

  test('apply, client side', async () => {
    const deployment = readFileSync(manifest('deployment.yaml'), 'utf8')
    const target = file('deployment.yaml', deployment)
    expect(await ok(`apply -f ${target}`)).toBe('deployment.apps/applied created\n')
    expect(await ok(`apply -f ${target}`)).toBe('deployment.apps/applied unchanged\n')
    file(
      'deployment.yaml',
      deployment.replace('replicas: 2', 'replicas: 3').replace('image: nginx:1.25', 'image: nginx:1.26'),
    )
    expect((await kubectl(`diff -f ${target}`)).stdout).toMatch(/^\+ +(- )?image: nginx:1\.26$/m)
    expect(await ok(`apply -f ${target} --dry-run=server`)).toContain('configured (server dry run)')
    expect(await ok(`apply -f ${target}`)).toBe('deployment.apps/applied configured\n')
    expect((await kubectl(`diff -f ${target}`)).code).toBe(0)
    const live = await json('get deployment applied')
    expect(at(live, 'spec.replicas')).toBe(3)
    expect(at(live, 'spec.template.spec.containers.0.image')).toBe('nginx:1.26')
    // The sidecar was taken out of the file: a three-way merge by the merge key removes it alone.
    file('deployment.yaml', deployment.replace(/ {6}- name: sidecar\n.*\n/, ''))
    await ok(`apply -f ${target}`)
    expect(await ok('get deploy applied', '-o', 'jsonpath={.spec.template.spec.containers[*].name}')).toBe('main')
    expect(await ok(`apply view-last-applied -f ${target}`)).toContain('kind: Deployment')
    expect(await ok(`apply -f ${target} --dry-run=client`)).toContain('(dry run)')
  })

  test('apply, server side', async () => {
    const target = file('ssa.yaml', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ssa' },
      data: { a: '1', b: '1' },
    })
    expect(await ok(`apply --server-side -f ${target} --field-manager=first`)).toBe(
      'configmap/ssa serverside-applied\n',
    )
    const other = file('ssa2.yaml', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ssa' },
      data: { a: '2' },
    })
    const conflict = await fails(`apply --server-side -f ${other} --field-manager=second`)
    expect(conflict).toContain('Apply failed with 1 conflict: conflict with "first": .data.a')
    await ok(`apply --server-side -f ${other} --field-manager=second --force-conflicts`)
    const shared = await json('get cm ssa --show-managed-fields')
    expect(at(shared, 'data')).toEqual({ a: '2', b: '1' })
    const managers = (at(shared, 'metadata.managedFields') as Json[]).map((entry) => entry.manager)
    expect(managers.sort()).toEqual(['first', 'second'])
    const less = file('ssa.yaml', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ssa' }, data: {} })
    await ok(`apply --server-side -f ${less} --field-manager=first`)
    expect(at(await json('get cm ssa'), 'data')).toEqual({ a: '2' })
    expect(await ok(`diff --server-side -f ${less} --field-manager=first`)).toBe('')
  })

  test('apply --prune and -k', async () => {
    const one = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'prune-1', labels: { prune: 'yes' } } }
    const two = { ...one, metadata: { ...one.metadata, name: 'prune-2' } }
    const target = file('prune.json', { apiVersion: 'v1', kind: 'List', items: [one, two] })
    await ok(`apply -f ${target} -l prune=yes`)
    file('prune.json', { apiVersion: 'v1', kind: 'List', items: [one] })
    expect(await ok(`apply -f ${target} --prune -l prune=yes`)).toContain('configmap/prune-2 pruned')
    expect(await ok('get cm -l prune=yes -o name')).toBe('configmap/prune-1\n')
    expect(await ok(`apply -k ${manifest('kustomize')}`)).toContain('configmap/kustomized-')
  })

  test('edit', async () => {
    const editor = file('editor.sh', '#!/bin/sh\nsed -i "s/a: \\"1\\"/a: edited/" "$1"\n')
    await runProgram('chmod', ['+x', editor], cluster.env)
    const ran = await runProgram(binary, ['edit', 'configmap', 'settings'], { ...cluster.env, EDITOR: editor })
    expect(ran.stdout).toBe('configmap/settings edited\n')
    expect(at(await json('get cm settings'), 'data.a')).toBe('edited')
  })

  test('patch, all types', async () => {
    expect(await ok('patch cm settings --type=merge -p', '{"data":{"c":"3","b":null}}')).toBe(
      'configmap/settings patched\n',
    )
    expect(at(await json('get cm settings'), 'data')).toEqual({ a: 'edited', c: '3' })
    expect(await ok('patch cm settings --type=merge -p', '{"data":{"c":"3"}}')).toBe(
      'configmap/settings patched (no change)\n',
    )
    await ok('patch cm settings --type=json -p', '[{"op":"replace","path":"/data/c","value":"4"}]')
    expect(at(await json('get cm settings'), 'data.c')).toBe('4')
    const sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"extra","image":"busybox"}]}}}}'
    await ok('patch deployment web -p', sidecar)
    expect(await ok('get deploy web', '-o', 'jsonpath={.spec.template.spec.containers[*].name}')).toBe('extra nginx')
    const remove = '{"spec":{"template":{"spec":{"containers":[{"name":"extra","$patch":"delete"}]}}}}'
    await ok('patch deployment web -p', remove)
    expect(await ok('get deploy web', '-o', 'jsonpath={.spec.template.spec.containers[*].name}')).toBe('nginx')
    await ok(
      'patch deployment web --subresource=status --type=merge -p',
      '{"status":{"observedGeneration":1,"readyReplicas":0}}',
    )
    expect(at(await json('get deployment web'), 'status.observedGeneration')).toBe(1)
    await ok('patch deployment web --subresource=scale --type=merge -p', '{"spec":{"replicas":5}}')
    expect(at(await json('get deployment web'), 'spec.replicas')).toBe(5)
    expect(at(await json('get deployment web --subresource=scale'), 'kind')).toBe('Scale')
    expect(await fails('patch cm settings --type=json -p', '[{"op":"remove","path":"/data/none"}]')).toMatch(
      /the server rejected our request due to an error in our request|Invalid/,
    )
  })

  test('replace', async () => {
    const live = await json('get cm settings')
    live.data = { replaced: 'yes' }
    const target = file('replace.json', live)
    expect(await ok(`replace -f ${target}`)).toBe('configmap/settings replaced\n')
    expect(await fails(`replace -f ${target}`)).toContain('the object has been modified')
    const uid = at(live, 'metadata.uid')
    const forced = file('force.json', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings' },
      data: { a: '1' },
    })
    expect(await ok(`replace --force -f ${forced}`)).toContain('configmap/settings replaced')
    expect(at(await json('get cm settings'), 'metadata.uid')).not.toBe(uid)
  })

  test('label, annotate, taint, cordon', async () => {
    expect(await ok('label cm settings colour=red')).toBe('configmap/settings labeled\n')
    expect(await fails('label cm settings colour=blue')).toMatch(/already has a value|'colour' already has/)
    await ok('label cm settings colour=blue --overwrite')
    expect(await ok('label cm settings colour-')).toBe('configmap/settings unlabeled\n')
    await ok('annotate cm settings note=hello')
    expect(at(await json('get cm settings'), 'metadata.annotations.note')).toBe('hello')
    await ok(`create -f ${manifest('node.yaml')}`)
    expect(await ok('taint node tour-node key=value:NoSchedule')).toBe('node/tour-node tainted\n')
    expect(await ok('get node tour-node', '-o', 'jsonpath={.spec.taints[0].effect}')).toBe('NoSchedule')
    expect(await ok('taint node tour-node key:NoSchedule-')).toBe('node/tour-node untainted\n')
    expect(await ok('cordon tour-node')).toBe('node/tour-node cordoned\n')
    expect(await ok('get nodes')).toMatch(/^tour-node +(Unknown|NotReady),SchedulingDisabled/m)
    expect(await ok('uncordon tour-node')).toBe('node/tour-node uncordoned\n')
    expect(await ok('describe node tour-node')).toContain('Name:               tour-node')
  })

  test('set', async () => {
    expect(await ok('set image deployment/web nginx=nginx:2')).toBe('deployment.apps/web image updated\n')
    await ok('set env deployment/web COLOUR=red')
    await ok('set resources deployment/web --limits=cpu=200m,memory=64Mi --requests=cpu=100m')
    await ok('set serviceaccount deployment/web robot')
    await ok('set selector service/plain app=web')
    await ok('set subject rolebinding/readers --user=joe')
    const spec = at(await json('get deployment web'), 'spec.template.spec')
    expect(spec).toMatchObject({
      serviceAccountName: 'robot',
      containers: [
        {
          image: 'nginx:2',
          env: [{ name: 'COLOUR', value: 'red' }],
          resources: { limits: { cpu: '200m', memory: '64Mi' } },
        },
      ],
    })
  })

  test('scale, autoscale, expose, run', async () => {
    await ok(`apply -f ${manifest('workloads.yaml')}`)
    for (const target of ['deployment/web', 'rs/tour-rs', 'rc/tour-rc', 'sts/tour-sts']) {
      expect(await ok(`scale ${target} --replicas=4`)).toContain('scaled')
      expect(at(await json(`get ${target}`), 'spec.replicas')).toBe(4)
    }
    expect(await fails('scale deployment/web --current-replicas=1 --replicas=2')).toMatch(
      /[Ee]xpected replicas to be 1, was 4/,
    )
    expect(
      await ok('autoscale deployment web --min=1 --max=5 --cpu-percent=80').catch(() =>
        ok('autoscale deployment web --min=1 --max=5 --cpu=80%'),
      ),
    ).toContain('autoscaled')
    expect(await ok('get hpa web')).toMatch(/Deployment\/web/)
    expect(
      at(await json('get horizontalpodautoscalers.v1.autoscaling web'), 'spec.targetCPUUtilizationPercentage'),
    ).toBe(80)
    expect(await ok('expose deployment web --port=80 --target-port=8080 --name=exposed')).toBe(
      'service/exposed exposed\n',
    )
    expect(at(await json('get svc exposed'), 'spec.ports.0')).toMatchObject({
      port: 80,
      targetPort: 8080,
      protocol: 'TCP',
    })
    expect(await ok('run solo --image=nginx --restart=Never')).toBe('pod/solo created\n')
    const pod = await json('get pod solo')
    expect(pod).toMatchObject({
      spec: { restartPolicy: 'Never', schedulerName: 'default-scheduler' },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    })
    expect(await ok('run solo2 --image=nginx --dry-run=server')).toBe('pod/solo2 created (server dry run)\n')
    expect(await ok('get pods')).toMatch(/^solo +0\/1 +Pending +0 +\d+s$/m)
    expect(await ok('describe pod solo')).toMatch(/^Status: +Pending$/m)
  })

  test('rollout on objects', async () => {
    expect(await ok('rollout pause deployment/web')).toBe('deployment.apps/web paused\n')
    expect(await ok('rollout resume deployment/web')).toBe('deployment.apps/web resumed\n')
    expect(await ok('rollout restart deployment/web')).toBe('deployment.apps/web restarted\n')
    await ok(`apply -f ${manifest('rollout.yaml')}`)
    const history = await ok('rollout history deployment/applied').catch((error: Error) => error.message)
    expect(history).toMatch(/REVISION|no rollout history found/i)
    const generation = at(await json('get deployment applied'), 'metadata.generation')
    const status = {
      observedGeneration: generation,
      replicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
      readyReplicas: 2,
    }
    await ok('scale deployment applied --replicas=2')
    const done = { ...status, observedGeneration: at(await json('get deployment applied'), 'metadata.generation') }
    await ok('patch deployment applied --subresource=status --type=merge -p', JSON.stringify({ status: done }))
    expect(await ok('rollout status deployment/applied --timeout=20s')).toContain('successfully rolled out')
  })

  test('wait', async () => {
    const observedGeneration = at(await json('get deployment web'), 'metadata.generation')
    const condition = { status: { observedGeneration, conditions: [{ type: 'Available', status: 'True' }] } }
    const waiting = ok('wait --for=condition=Available deployment/web --timeout=30s')
    await ok('patch deployment web --subresource=status --type=merge -p', JSON.stringify(condition))
    expect(await waiting).toBe('deployment.apps/web condition met\n')
    expect(await ok('wait', '--for=jsonpath={.data.a}=1', 'cm/settings', '--timeout=30s')).toBe(
      'configmap/settings condition met\n',
    )
    await ok('create configmap doomed')
    const gone = ok('wait --for=delete cm/doomed --timeout=30s')
    await ok('delete cm doomed --wait=false')
    await gone
    expect(await fails('wait --for=condition=Never cm/settings --timeout=1s')).toContain(
      'timed out waiting for the condition',
    )
  })

  test('delete', async () => {
    await ok(`apply -f ${manifest('many.yaml')}`)
    expect(await ok('delete cm many-1')).toMatch(/configmap "many-1" deleted/)
    expect(await ok('delete cm -l set=many')).toContain('"many-2" deleted')
    expect(await ok('delete deployment web --cascade=background')).toContain('deleted')
    await ok('delete rs tour-rs --cascade=orphan --wait=false')
    const orphaning = await kubectl('get rs tour-rs -o json')
    if (orphaning.code === 0) {
      expect(at(JSON.parse(orphaning.stdout), 'metadata.finalizers')).toContain('orphan')
      await ok('patch rs tour-rs --type=merge -p', '{"metadata":{"finalizers":null}}')
    }
    await ok('delete sts tour-sts --cascade=foreground --wait=false')
    const foreground = await kubectl('get sts tour-sts -o json')
    if (foreground.code === 0) {
      expect(at(JSON.parse(foreground.stdout), 'metadata.finalizers')).toContain('foregroundDeletion')
      await ok('patch sts tour-sts --type=merge -p', '{"metadata":{"finalizers":null}}')
    }
    expect(await ok('delete pod solo --grace-period=0 --force')).toContain('pod "solo" force deleted')
    await ok('create configmap all-1')
    await ok('create configmap all-2')
    expect(await ok('delete cm --all')).toContain('"all-2" deleted')
    expect(await ok('get cm -o name')).not.toContain('all-1')
    expect(await fails('delete cm missing')).toContain('Error from server (NotFound): configmaps "missing" not found')
    expect(await ok('delete cm missing --ignore-not-found')).toBe('')
    expect(await ok('delete cm --all --dry-run=server')).not.toContain('error')
  })

  test('events', async () => {
    await ok(`create -f ${manifest('event.yaml')}`)
    expect(await ok('events')).toMatch(/Normal +Toured +Pod\/solo +a tour event/)
    expect(await ok('events --for pod/solo --types=Normal')).toContain('Toured')
    expect(await ok('get events --field-selector=involvedObject.name=solo')).toContain('Toured')
    expect(await ok('get events --field-selector=reason=Nothing')).toBe('')
  })

  test('proxy', async () => {
    const socket = path.join(cluster.folder, 'proxy.sock')
    for (const args of [['--port=0'], [`--unix-socket=${socket}`]]) {
      const child = spawn(binary, ['proxy', ...args], { env: cluster.env, stdio: ['ignore', 'pipe', 'pipe'] })
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += chunk
      })
      try {
        await until(() => said.includes('Starting to serve on'))
        const address = said.match(/127\.0\.0\.1:\d+/)?.[0]
        const curl = address ? [`http://${address}/api/`] : ['--unix-socket', socket, 'http://localhost/api/']
        const answer = await runProgram('curl', ['-s', ...curl], cluster.env)
        expect(JSON.parse(answer.stdout)).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
      } finally {
        child.kill('SIGKILL')
      }
    }
  })

  test('auth, cluster-info dump, completion', async () => {
    // 1.27 knows only the beta versions of the review, which v1.36 does not serve.
    if (minor > 27) expect(await ok('auth whoami')).toMatch(/Groups +\[?.*system:masters/)
    else expect(await fails('auth whoami')).toContain('the selfsubjectreviews API is not enabled in the cluster')
    expect(await ok('auth can-i create pods')).toBe('yes\n')
    expect(await ok('auth can-i --list')).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]/m)
    expect(await ok('cluster-info dump')).toContain('"kind": "NodeList"')
    expect(await ok('completion bash')).toContain('__start_kubectl')
    expect(await ok('__complete get namespaces t')).toContain('tour-second')
  })

  test('errors and warnings reach the user', async () => {
    const unknown = file('unknown.json', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'u' }, spec: {} })
    expect(await fails(`create -f ${unknown}`)).toContain('unknown field "spec"')
    expect((await kubectl(`create -f ${unknown} --validate=warn --dry-run=server`)).stderr).toContain(
      'Warning: unknown field "spec"',
    )
    const invalid = file('invalid.json', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'bad' },
      spec: { ports: [{ port: 0 }] },
    })
    expect(await fails(`create -f ${invalid}`)).toContain(
      '* spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    )
    expect(await fails('create configmap Bad_Name')).toContain(
      'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters',
    )
    expect(await fails('get pods --field-selector=spec.colour=red')).toContain('field label not supported: spec.colour')
    expect(await fails('create namespace tour --save-config')).toContain('already exists')
    const immutable = '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'
    expect(await fails('patch deployment applied -p', immutable)).toContain('field is immutable')
    const kind = file('kind.json', { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x' } })
    expect(await fails(`apply -f ${kind}`)).toContain('no matches for kind "Thing" in version "example.com/v1"')
    const endpoints = file('endpoints.json', { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'old' } })
    expect((await kubectl(`create -f ${endpoints}`)).stderr).toContain('Warning: v1 Endpoints is deprecated in v1.33+')
  })
})

/** Waits until something is true that another process brings about. */
async function until(holds: () => boolean, within = 20_000): Promise<void> {
  const deadline = Date.now() + within
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('it did not happen in time')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
