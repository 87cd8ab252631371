{{/* The Role that a sidecar needs on Kubernetes Leases, and nothing more; on another store nothing. */}}
{{- define "tenure.role" -}}
{{- if eq .Values.tenure.store.kind "kubernetes" -}}
{{- $observer := dig "observer" false .Values.tenure.settings -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "tenure.roleName" . }}
  namespace: {{ include "tenure.leaseNamespace" . }}
rules:
  {{- if and .Values.tenure.store.kubernetes.createLease (not $observer) }}
  # Cannot be bound to a name.
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  {{- end }}
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: {{ include "tenure.leaseNames" . }}
    verbs: {{ ternary (list "get" "watch") (list "get" "update" "watch") $observer | toJson }}
{{- end -}}
{{- end -}}

{{/* Binds the Role to the service account of the pod. */}}
{{- define "tenure.roleBinding" -}}
{{- if eq .Values.tenure.store.kind "kubernetes" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "tenure.roleName" . }}
  namespace: {{ include "tenure.leaseNamespace" . }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tenure.roleName" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tenure.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
{{- end -}}

{{/* The Leases, made beforehand where `createLease` is false. They keep the generation: an uninstall leaves them. */}}
{{- define "tenure.leases" -}}
{{- if and (eq .Values.tenure.store.kind "kubernetes") (not .Values.tenure.store.kubernetes.createLease) -}}
{{- $namespace := include "tenure.leaseNamespace" . -}}
{{- range .Values.tenure.elections }}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: {{ include "tenure.leaseName" . }}
  namespace: {{ $namespace }}
  annotations:
    helm.sh/resource-policy: keep
{{- end }}
{{- end -}}
{{- end -}}
