{{/* What both forms of the container share. */}}
{{- define "tenure.body" -}}
{{- $tenure := .Values.tenure -}}
name: tenure
image: {{ include "tenure.image" . | quote }}
imagePullPolicy: {{ $tenure.image.pullPolicy }}
args: [run]
env:
  {{- include "tenure.env" . | nindent 2 }}
ports:
  - { name: tenure-ops, containerPort: {{ regexFind "[0-9]+$" $tenure.opsListen }} }
startupProbe:
  {{- include "tenure.probe" (list "/livez" $tenure.startupProbe) | nindent 2 }}
livenessProbe:
  {{- include "tenure.probe" (list "/livez" $tenure.livenessProbe) | nindent 2 }}
readinessProbe:
  {{- include "tenure.probe" (list "/readyz" $tenure.readinessProbe) | nindent 2 }}
resources:
  {{- toYaml $tenure.resources | nindent 2 }}
securityContext:
  {{- toYaml $tenure.securityContext | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- with include "tenure.volumeMounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tenure.probe" -}}
httpGet: { path: {{ index . 0 }}, port: tenure-ops }
{{ toYaml (index . 1) }}
{{- end -}}

{{/* The native sidecar: one item for the pod's `initContainers`. It starts before the application and ends after it. */}}
{{- define "tenure.nativeSidecar" -}}
{{- include "tenure.validate" . -}}
- restartPolicy: Always
  {{- include "tenure.body" . | nindent 2 }}
{{- end -}}

{{/*
The plain container: one item for the pod's `containers`. Kubernetes tells it to end together with the application, so the
preStop hook holds it until the lease was given back.
*/}}
{{- define "tenure.plainContainer" -}}
{{- include "tenure.validate" . -}}
{{- $drain := list "drain" "--timeout" (printf "%sms" (include "tenure.hookMs" .)) -}}
- lifecycle:
    preStop:
      exec:
        command: {{ concat .Values.tenure.program $drain | toJson }}
  {{- include "tenure.body" . | nindent 2 }}
{{- end -}}

{{/* For `initContainers`: the sidecar in its native form, else nothing. */}}
{{- define "tenure.initContainers" -}}
{{- if .Values.tenure.native -}}
{{ include "tenure.nativeSidecar" . }}
{{- end -}}
{{- end -}}

{{/* For `containers`: the sidecar in its plain form, else nothing. */}}
{{- define "tenure.containers" -}}
{{- if not .Values.tenure.native -}}
{{ include "tenure.plainContainer" . }}
{{- end -}}
{{- end -}}
