{{/*
Where programs send spans of themselves: "collector" is the Collector of this release, "endpoint" another one,
and "" says that they send none.
*/}}
{{- define "trellis.programs.way" -}}
{{- $programs := .Values.telemetry.programs -}}
{{- if $programs.enabled -}}
{{- if $programs.endpoint -}}
endpoint
{{- else if (include "trellis.experiment" . | fromJson).virtual -}}
{{- fail "telemetry.programs.enabled needs telemetry.programs.endpoint, because an experiment on the virtual clock has no Collector" -}}
{{- else -}}
collector
{{- end -}}
{{- else if $programs.logs -}}
{{- fail "telemetry.programs.logs needs telemetry.programs.enabled" -}}
{{- end -}}
{{- end -}}

{{/* What a container is told of that: (dict "root" . "container" "coordinator"). Those of the gate are its own pod. */}}
{{- define "trellis.programs.environment" -}}
{{- $way := include "trellis.programs.way" .root -}}
{{- if $way }}
{{- range $name, $path := dict "K8S_NAMESPACE" "metadata.namespace" "K8S_POD" "metadata.name" "K8S_POD_UID" "metadata.uid" "K8S_NODE" "spec.nodeName" }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $path }}
{{- end }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: service.namespace={{ include "trellis.name" .root }},k8s.namespace.name=$(K8S_NAMESPACE),k8s.pod.name=$(K8S_POD),k8s.pod.uid=$(K8S_POD_UID),k8s.node.name=$(K8S_NODE),k8s.container.name={{ .container }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  {{- if eq $way "endpoint" }}
  value: {{ .root.Values.telemetry.programs.endpoint | quote }}
  {{- else if eq .container "gate" }}
  value: http://127.0.0.1:4315
  {{- else }}
  value: {{ include "trellis.collector.endpoint" .root }}
- name: TRELLIS_PROGRAMS_TOKEN_FILE
  value: /etc/trellis-trust/programs
  {{- end }}
{{- if .root.Values.telemetry.programs.logs }}
- name: OTEL_LOGS_EXPORTER
  value: otlp
{{- end }}
{{- end }}
{{- if eq .root.Values.logs.format "json" }}
- name: TRELLIS_LOG_FORMAT
  value: json
{{- end }}
{{- end -}}

{{/* The keys of the release's Secret that a pod is given, with that for spans if it needs it: (dict "root" . "keys" $keys). */}}
{{- define "trellis.programs.keys" -}}
{{- $keys := default dict .keys -}}
{{- if eq (include "trellis.programs.way" .root) "collector" -}}
{{- $keys = merge $keys (dict "programs" "programs") -}}
{{- end -}}
{{- $keys | toJson -}}
{{- end -}}

{{/* Where a program finds certificates that it needs for nothing but its spans. */}}
{{- define "trellis.programs.certificates" -}}
{{- if and (eq (include "trellis.programs.way" .) "collector") (include "trellis.tls.secret" .) }}
- name: TRELLIS_CERTIFICATES
  value: /etc/trellis-tls
- name: TRELLIS_CERTIFICATE_NAME
  value: {{ include "trellis.tls.name" . | quote }}
{{- end }}
{{- end -}}

{{/* The port of an endpoint http://HOST:PORT or https://HOST:PORT. The schema asks for one. */}}
{{- define "trellis.programs.port" -}}
{{- splitList ":" .Values.telemetry.programs.endpoint | last | trimSuffix "/" -}}
{{- end -}}
