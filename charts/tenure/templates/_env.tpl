{{/* The variables of the sidecar: a list for `env`. */}}
{{- define "tenure.env" -}}
{{- $tenure := .Values.tenure -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: TENURE_ELECTION
  value: {{ join "," $tenure.elections | quote }}
{{ include "tenure.storeEnv" . }}
- name: TENURE_LISTEN
  value: {{ $tenure.listen | quote }}
- name: TENURE_OPS_LISTEN
  value: {{ $tenure.opsListen | quote }}
- name: TENURE_DRAIN
  value: {{ include "tenure.drain" . | quote }}
{{- range $name, $value := omit $tenure.settings "drain" }}
- name: TENURE_{{ $name | replace "-" "_" | upper }}
  value: {{ include "tenure.text" $value | quote }}
{{- end }}
{{- with $tenure.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A value as the sidecar reads it. Numbers in YAML are floats to Helm, and large ones would get an exponent. */}}
{{- define "tenure.text" -}}
{{- if kindIs "float64" . -}}
{{ printf "%.0f" . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end -}}

{{/* Which store, and where its secrets are. */}}
{{- define "tenure.storeEnv" -}}
{{- $store := .Values.tenure.store -}}
{{- if eq $store.kind "kubernetes" -}}
- name: TENURE_STORE
  value: kubernetes://{{ include "tenure.leaseNamespace" . }}
{{- else if eq $store.kind "sqlite" -}}
- name: TENURE_STORE
  value: {{ printf "sqlite:%s/lease/tenure.db" $store.sqlite.mountPath | quote }}
{{- else -}}
{{- if $store.postgres.urlSecret.name -}}
- name: TENURE_STORE_FILE
  value: /run/secrets/tenure/url
{{- else -}}
- name: TENURE_STORE
  value: {{ $store.postgres.url | quote }}
{{- end }}
{{- if $store.postgres.passwordSecret.name }}
- name: TENURE_STORE_PASSWORD_FILE
  value: /run/secrets/tenure/password
{{- end }}
{{- end -}}
{{- end -}}
