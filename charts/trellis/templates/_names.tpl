{{/* The name that all objects of a release begin with: the release's own. */}}
{{- define "trellis.name" -}}
{{- if gt (len .Release.Name) 40 -}}
{{- fail (printf "the release name %q has %d characters, and names of pods are made from it: use at most 40" .Release.Name (len .Release.Name)) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" .Release.Name) -}}
{{- fail (printf "the release name %q is none that a Service can have: use small letters, digits and -, and begin with a letter" .Release.Name) -}}
{{- end -}}
{{- .Release.Name -}}
{{- end -}}

{{/* What finds the pods of a part of this release: (dict "root" . "component" "peers"). */}}
{{- define "trellis.selector" -}}
app.kubernetes.io/name: trellis
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "trellis.labels" -}}
{{ include "trellis.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/*
Labels and annotations of an object, with those that values add to all objects:
(dict "root" . "component" "peers" "labels" $more "annotations" $more).
*/}}
{{- define "trellis.metadata" -}}
labels: {{- merge (include "trellis.labels" . | fromYaml) (default dict .labels) .root.Values.labels | toYaml | nindent 2 }}
{{- with merge (default dict .annotations) .root.Values.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "trellis.claim" -}}
{{- .Values.storage.existingClaim | default (printf "%s-results" (include "trellis.name" .)) -}}
{{- end -}}

{{/* A list with the names of all pods of peers. */}}
{{- define "trellis.peers.pods" -}}
{{- $name := include "trellis.name" . -}}
{{- range $host := until (int (include "trellis.experiment" . | fromJson).hosts) }}
- {{ $name }}-peers-{{ div $host 1000 }}-{{ mod $host 1000 }}
{{- end }}
{{- end -}}

{{/*
Fails with a hint if a cluster that can be asked has no kind of the Prometheus operator:
(dict "root" . "kind" "PodMonitor" "value" "podMonitor"). `helm template` cannot ask, and renders.
*/}}
{{- define "trellis.monitoring" -}}
{{- $has := .root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind) -}}
{{- if and (not $has) (lookup "v1" "ServiceAccount" .root.Release.Namespace "default") -}}
{{- fail (printf "this cluster has no %s: install the Prometheus operator's CRDs, or leave prometheus.%s.enabled at false" .kind .value) -}}
{{- end -}}
{{- end -}}
