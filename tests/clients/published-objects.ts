/** Objects of other projects' kinds as their users write them. */

const labels = { app: 'shop' }

export const prometheus = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'Prometheus',
  metadata: { name: 'main' },
  spec: {
    replicas: 2,
    serviceAccountName: 'prometheus',
    serviceMonitorSelector: { matchLabels: labels },
    ruleSelector: {},
    retention: '15d',
    resources: { requests: { memory: '400Mi', cpu: '500m' } },
    storage: {
      volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '50Gi' } } } },
    },
    containers: [{ name: 'proxy', image: 'proxy:1', ports: [{ containerPort: 8080, protocol: 'TCP' }] }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }],
        },
      },
    },
  },
}

export const serviceMonitor = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'ServiceMonitor',
  metadata: { name: 'shop', labels },
  spec: { selector: { matchLabels: labels }, endpoints: [{ port: 'metrics', interval: '30s', targetPort: 9090 }] },
}

export const prometheusRule = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: 'shop' },
  spec: {
    groups: [{ name: 'shop', rules: [{ alert: 'Down', expr: 'up == 0', for: '5m', labels: { severity: 'page' } }] }],
  },
}

export const clusterIssuer = {
  apiVersion: 'cert-manager.io/v1',
  kind: 'ClusterIssuer',
  metadata: { name: 'letsencrypt' },
  spec: {
    acme: {
      server: 'https://acme.example.com/directory',
      email: 'admin@example.com',
      privateKeySecretRef: { name: 'account' },
      solvers: [{ http01: { ingress: { class: 'nginx' } }, selector: { dnsZones: ['example.com'] } }],
    },
  },
}

export const certificate = {
  apiVersion: 'cert-manager.io/v1',
  kind: 'Certificate',
  metadata: { name: 'shop' },
  spec: {
    secretName: 'shop-tls',
    dnsNames: ['shop.example.com'],
    duration: '2160h',
    usages: ['server auth'],
    privateKey: { algorithm: 'ECDSA', size: 256 },
    issuerRef: { name: 'letsencrypt', kind: 'ClusterIssuer' },
  },
}

export const application = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'shop' },
  spec: {
    project: 'default',
    source: {
      repoURL: 'https://git.example.com/shop.git',
      path: 'deploy',
      targetRevision: 'main',
      helm: { parameters: [{ name: 'tier', value: 'gold' }] },
    },
    destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
    syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] },
  },
}

export const applicationSet = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'ApplicationSet',
  metadata: { name: 'everywhere' },
  spec: {
    generators: [{ list: { elements: [{ cluster: 'east', free: { form: 1 } }, { cluster: 'west' }] } }],
    template: { metadata: { name: '{{cluster}}-shop' }, spec: application.spec },
  },
}
