{{/* Fields of the pod's `spec` that the sidecar depends on. */}}
{{- define "tenure.pod" -}}
serviceAccountName: {{ include "tenure.serviceAccountName" . }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ .Values.tenure.terminationGracePeriodSeconds }}
{{- end -}}

{{/* For `nodeSelector`: the one host of an SQLite file, else nothing. */}}
{{- define "tenure.nodeSelector" -}}
{{- $store := .Values.tenure.store -}}
{{- if and (eq $store.kind "sqlite") $store.sqlite.node -}}
kubernetes.io/hostname: {{ $store.sqlite.node | quote }}
{{- end -}}
{{- end -}}
