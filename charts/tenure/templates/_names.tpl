{{/* The sidecar's image, pinned by digest where one is given. */}}
{{- define "tenure.image" -}}
{{- with .Values.tenure.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of Role and RoleBinding. */}}
{{- define "tenure.roleName" -}}
{{ .Release.Name | trunc 56 | trimSuffix "-" }}-tenure
{{- end -}}

{{/* The service account of the pod. */}}
{{- define "tenure.serviceAccountName" -}}
{{ .Values.tenure.serviceAccountName | default .Release.Name }}
{{- end -}}

{{/* Where the Leases are. */}}
{{- define "tenure.leaseNamespace" -}}
{{ .Values.tenure.store.kubernetes.namespace | default .Release.Namespace }}
{{- end -}}

{{/* The Lease of an election, given as text. As the sidecar does it: its name, where Kubernetes takes it. */}}
{{- define "tenure.leaseName" -}}
{{- $fits := regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" . -}}
{{- $encoded := regexMatch "^tenure-[0-9a-f]{64}$" . -}}
{{- if and $fits (not $encoded) -}}
{{ . }}
{{- else -}}
tenure-{{ sha256sum . }}
{{- end -}}
{{- end -}}

{{/* The names of all Leases, as a list in JSON. */}}
{{- define "tenure.leaseNames" -}}
{{- $names := list -}}
{{- range .Values.tenure.elections -}}
{{- $names = append $names (include "tenure.leaseName" .) -}}
{{- end -}}
{{ toJson $names }}
{{- end -}}
