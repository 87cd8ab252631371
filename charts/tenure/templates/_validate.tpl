{{/*
What the schema cannot tell. Renders nothing, or fails with the input, the rule and the remedy. The sidecar itself
checks how its timings go together, and refuses to start.
*/}}
{{- define "tenure.validate" -}}
{{- include "tenure.validateElections" . -}}
{{- include "tenure.validateForm" . -}}
{{- include "tenure.validateGrace" . -}}
{{- include "tenure.validateTtl" . -}}
{{- if eq .Values.tenure.store.kind "postgres" -}}
{{- include "tenure.validatePostgres" . -}}
{{- else if eq .Values.tenure.store.kind "sqlite" -}}
{{- include "tenure.validateSqlite" . -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validateElections" -}}
{{- if empty .Values.tenure.elections -}}
{{- fail "tenure.elections is empty: a sidecar contends for at least one election: set for example tenure.elections={fleet-manager}" -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validateForm" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- if and .Values.tenure.native (not (semverCompare ">=1.29-0" $version)) -}}
{{- fail (printf "tenure.native is true and this is Kubernetes %s: native sidecars need 1.29: set tenure.native=false" $version) -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validateGrace" -}}
{{- $graceMs := mul .Values.tenure.terminationGracePeriodSeconds 1000 -}}
{{- $drainMs := include "tenure.ms" (include "tenure.drain" .) | int64 -}}
{{- $stopMs := include "tenure.ms" .Values.tenure.applicationStop | int64 -}}
{{- $remedy := "set a longer tenure.terminationGracePeriodSeconds, or a shorter tenure.applicationStop or tenure.settings.drain" -}}
{{- if .Values.tenure.native -}}
{{- $needMs := add $stopMs $drainMs 2000 -}}
{{- if gt $needMs $graceMs -}}
{{- fail (printf "the grace period of %d ms is too short: the application may take %d ms to end, and then the sidecar %d ms (drain) + 2000 ms (promise and release) = %d ms: %s" $graceMs $stopMs $drainMs $needMs $remedy) -}}
{{- end -}}
{{- else -}}
{{- if and (gt $drainMs 0) (lt $drainMs $stopMs) -}}
{{- fail (printf "tenure.settings.drain of %d ms is too short: the application may take %d ms to end and say drained, and a drain that is over before leaves the lease to run out: set a longer drain, or a shorter tenure.applicationStop" $drainMs $stopMs) -}}
{{- end -}}
{{- $hookMs := include "tenure.hookMs" . | int64 -}}
{{- $needMs := add $hookMs 2000 -}}
{{- if gt $needMs $graceMs -}}
{{- fail (printf "the grace period of %d ms is too short: the preStop hook may take %d ms (drain) + 2000 ms (promise and release), and the sidecar 2000 ms to end = %d ms: %s" $graceMs $drainMs $needMs $remedy) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validateTtl" -}}
{{- $kind := .Values.tenure.store.kind -}}
{{- $ttlMs := include "tenure.ms" (dig "ttl" "15s" .Values.tenure.settings) | int64 -}}
{{- $leastMs := ternary 1000 3000 (eq $kind "sqlite") -}}
{{- if lt $ttlMs (int64 $leastMs) -}}
{{- fail (printf "tenure.settings.ttl of %d ms is too short: the least on the store %s is %d ms: set a longer one" $ttlMs $kind $leastMs) -}}
{{- end -}}
{{- if and (eq $kind "kubernetes") (ne (mod $ttlMs 1000) 0) -}}
{{- fail (printf "tenure.settings.ttl of %d ms: a Lease keeps whole seconds: round it" $ttlMs) -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validatePostgres" -}}
{{- $postgres := .Values.tenure.store.postgres -}}
{{- if eq (empty $postgres.url) (empty $postgres.urlSecret.name) -}}
{{- fail "tenure.store.postgres: the store's URL has one source: set either url or urlSecret.name" -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@" $postgres.url -}}
{{- fail "tenure.store.postgres.url holds a password, which everybody who may read the pod would see: put the URL into a Secret and set urlSecret.name, or set passwordSecret.name" -}}
{{- end -}}
{{- end -}}

{{- define "tenure.validateSqlite" -}}
{{- $sqlite := .Values.tenure.store.sqlite -}}
{{- if not (or (hasKey $sqlite.volume "persistentVolumeClaim") (hasKey $sqlite.volume "hostPath")) -}}
{{- fail (printf "tenure.store.sqlite.volume is %s: all pods share one file, and an emptyDir would give each pod a store of its own, in which it leads: set persistentVolumeClaim with one claim for all, or hostPath" (toJson $sqlite.volume)) -}}
{{- end -}}
{{- if and (hasKey $sqlite.volume "hostPath") (empty $sqlite.node) -}}
{{- fail "tenure.store.sqlite.node is empty: with hostPath each node has a file of its own, and elects a leader of its own: name the one node" -}}
{{- end -}}
{{- end -}}
