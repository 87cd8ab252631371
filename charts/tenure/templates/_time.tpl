{{/* A duration such as `1500ms` or `20s` in whole milliseconds, rounded up. */}}
{{- define "tenure.ms" -}}
{{- $text := toString . -}}
{{- if eq $text "0" -}}
0
{{- else -}}
{{- $number := regexFind "^[0-9.]+" $text | float64 -}}
{{- $unit := regexFind "[a-z]+$" $text -}}
{{- mulf $number (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit) | ceil | int64 -}}
{{- end -}}
{{- end -}}

{{/*
The drain. A native sidecar is told to end when the application is gone: nothing is left to drain. A plain one is told
at the same time, so it has to wait for as long as the application may take.
*/}}
{{- define "tenure.drain" -}}
{{- $settings := .Values.tenure.settings -}}
{{- if hasKey $settings "drain" -}}
{{ $settings.drain }}
{{- else if .Values.tenure.native -}}
0
{{- else -}}
{{ .Values.tenure.applicationStop }}
{{- end -}}
{{- end -}}

{{/* How long the preStop hook waits, in milliseconds: for the drain, and 1.5 s at most for promise and release. */}}
{{- define "tenure.hookMs" -}}
{{ add (include "tenure.ms" (include "tenure.drain" .)) 2000 }}
{{- end -}}
