{{/* Where the application writes: to what its store can fence. */}}
{{- define "example.image" -}}
{{- if .Values.application.image -}}
{{ .Values.application.image }}
{{- else if eq .Values.tenure.store.kind "postgres" -}}
postgres:18-alpine
{{- else -}}
{{ include "tenure.image" . }}
{{- end -}}
{{- end -}}

{{- define "example.command" -}}
{{- if eq .Values.tenure.store.kind "postgres" -}}
[/bin/sh, /example/app.sh]
{{- else -}}
[/usr/local/bin/node, /example/app.mjs]
{{- end -}}
{{- end -}}

{{- define "example.urlSecret" -}}
{{- $own := .Values.application.urlSecret -}}
{{- $secret := ternary $own .Values.tenure.store.postgres.urlSecret (ne $own.name "") -}}
{{- if empty $secret.name -}}
{{- fail "application.urlSecret.name is empty: the application connects to PostgreSQL as well: name the Secret that holds its URL, here or in tenure.store.postgres.urlSecret" -}}
{{- end -}}
{ name: {{ $secret.name | quote }}, key: {{ $secret.key | quote }} }
{{- end -}}

{{- define "example.env" -}}
- name: SIDECAR
  value: http://{{ .Values.tenure.listen }}
{{- if eq .Values.tenure.store.kind "postgres" }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: {{ include "example.urlSecret" . }}
{{- else if eq .Values.tenure.store.kind "sqlite" }}
- { name: WRITES_TO, value: sqlite }
- name: DATA_FILE
  value: {{ .Values.tenure.store.sqlite.mountPath }}/example/counter.db
{{- else }}
- { name: WRITES_TO, value: configmap }
- { name: SERVICE_ACCOUNT, value: /var/run/secrets/kubernetes.io/serviceaccount }
- { name: NODE_EXTRA_CA_CERTS, value: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt }
- name: NAMESPACE
  value: {{ .Release.Namespace }}
- name: STATE
  value: {{ .Release.Name }}-state
{{- end }}
{{- end -}}

{{- define "example.labels" -}}
app.kubernetes.io/name: example-app
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "example.restricted" -}}
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}
