{{/*
Whether the release runs, has ended or waits in a queue, as its entry there says: "" without a queue. A renderer
without access to the cluster takes it for one that waits.
*/}}
{{- define "trellis.queue.state" -}}
{{- if .Values.queue.enabled -}}
{{- if .Values.kueue.queueName -}}
{{- fail "queue.enabled and kueue.queueName both say when pods may start. Choose one of them" -}}
{{- end -}}
{{- $there := lookup "coordination.k8s.io/v1" "Lease" .Release.Namespace (printf "%s-queue" (include "trellis.name" .)) -}}
{{- $state := dig "metadata" "annotations" "trellis/state" "waiting" $there -}}
{{- if has $state (list "running" "pausing") -}}
running
{{- else -}}
{{- ternary "ended" "waiting" (eq $state "ended") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The pods of a workload, none while the release waits: (dict "root" . "wanted" 20 "trials" $onlyForTrials). */}}
{{- define "trellis.queue.replicas" -}}
{{- $state := include "trellis.queue.state" .root -}}
{{- if or (eq $state "waiting") (and (eq $state "ended") .trials) -}}0{{- else -}}{{ .wanted }}{{- end -}}
{{- end -}}

{{/* Labels for Kueue, as a mapping: of Jobs and of StatefulSets, whose pods it holds back. */}}
{{- define "trellis.kueue.labels" -}}
{{- with .Values.kueue.queueName }}
kueue.x-k8s.io/queue-name: {{ . | quote }}
{{- with $.Values.kueue.priorityClass }}
kueue.x-k8s.io/priority-class: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The names of all places of the queue, as a list. */}}
{{- define "trellis.queue.places" -}}
{{- range $place := until (int .Values.queue.slots) }}
- trellis-{{ $.Values.queue.name }}-{{ $place }}
{{- end }}
{{- end -}}
