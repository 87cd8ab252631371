{{/*
The volumes of the sidecar: a list for the pod's `volumes`, empty where the store needs none. The token of the service
account is mounted into the sidecar alone: the application has no business with the Lease.
*/}}
{{- define "tenure.volumes" -}}
{{- $store := .Values.tenure.store -}}
{{- if eq $store.kind "kubernetes" -}}
- name: tenure-token
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3600 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
{{- else if eq $store.kind "sqlite" -}}
- name: tenure-store
  {{- toYaml $store.sqlite.volume | nindent 2 }}
{{- else if include "tenure.postgresSecrets" . -}}
- name: tenure-store
  projected:
    sources:
      {{- include "tenure.postgresSecrets" . | trim | nindent 6 }}
{{- end }}
{{- with .Values.tenure.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tenure.postgresSecrets" -}}
{{- with .Values.tenure.store.postgres.urlSecret }}
{{- if .name }}
- secret: { name: {{ .name | quote }}, items: [{ key: {{ .key | quote }}, path: url }] }
{{- end }}
{{- end }}
{{- with .Values.tenure.store.postgres.passwordSecret }}
{{- if .name }}
- secret: { name: {{ .name | quote }}, items: [{ key: {{ .key | quote }}, path: password }] }
{{- end }}
{{- end }}
{{- end -}}

{{/* Where they are mounted: a list for `volumeMounts`. */}}
{{- define "tenure.volumeMounts" -}}
{{- $store := .Values.tenure.store -}}
{{- if eq $store.kind "kubernetes" -}}
- { name: tenure-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
{{- else if eq $store.kind "sqlite" -}}
- { name: tenure-store, mountPath: {{ $store.sqlite.mountPath | quote }} }
{{- else if include "tenure.postgresSecrets" . -}}
- { name: tenure-store, mountPath: /run/secrets/tenure, readOnly: true }
{{- end }}
{{- with .Values.tenure.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
