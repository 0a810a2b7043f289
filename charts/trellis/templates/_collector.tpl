{{/*
The Collector's configuration. What is written to files passes no queue and no batch, so that a sender's OK
means written; what is forwarded may be lost, and must not hold up the files: a batch of its own cuts it off.
It listens to its own pod alone, where the gate asks for tickets: not every Collector has extensions that do.
*/}}
{{- define "trellis.collector.config" -}}
{{- $forward := .Values.telemetry.forward -}}
{{- $share := float64 $forward.sample -}}
{{- $programs := eq (include "trellis.programs.way" .) "collector" -}}
{{- $ofPrograms := ternary (list "traces" "logs") (list "traces") .Values.telemetry.programs.logs -}}
extensions:
  health_check:
    endpoint: ":13133"
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:4316
        max_recv_msg_size_mib: 64
  {{- if $programs }}
  otlp/programs:
    protocols:
      grpc:
        endpoint: 127.0.0.1:4315
  {{- end }}
processors:
  memory_limiter:
    check_interval: 1s
    limit_percentage: 75
    spike_limit_percentage: 20
  {{- if $forward.endpoint }}
  batch: {}
  {{- if lt $share 1.0 }}
  {{- /* By a hash of the whole id, because its second half is a count and no random number. */}}
  probabilistic_sampler:
    mode: hash_seed
    hash_seed: 22
    sampling_percentage: {{ mulf $share 100 }}
  {{- end }}
  {{- end }}
exporters:
  {{- range $signal := list "traces" "metrics" }}
  file/{{ $signal }}:
    path: /var/lib/trellis/run/trials/*/telemetry/collector-{{ $signal }}-0.otlp
    format: proto
    compression: zstd
    {{- /* With rotation a record is written when it is acknowledged, and a restart appends; without, it waits
           in a buffer that a killed Collector takes along. Nothing is to be rotated. */}}
    rotation:
      max_megabytes: 1048576
      max_backups: 0
    group_by:
      enabled: true
      resource_attribute: trellis.trial
  {{- end }}
  {{- if $programs }}
  {{- /* What programs tell of themselves is no telemetry of a trial, and is kept for a while only. */}}
  {{- range $signal := $ofPrograms }}
  file/programs{{ if ne $signal "traces" }}-{{ $signal }}{{ end }}:
    path: /var/lib/trellis/programs/{{ $signal }}.otlp
    format: proto
    compression: zstd
    rotation:
      max_megabytes: 64
      max_backups: 1
  {{- end }}
  {{- end }}
  {{- if $forward.endpoint }}
  otlp/forward:
    endpoint: {{ $forward.endpoint | quote }}
    tls:
      insecure: {{ not $forward.tls }}
  {{- end }}
service:
  extensions: [health_check]
  pipelines:
    {{- range $signal := list "traces" "metrics" }}
    {{ $signal }}/files:
      receivers: [otlp]
      processors: [memory_limiter]
      exporters: [file/{{ $signal }}]
    {{- if $forward.endpoint }}
    {{ $signal }}/forward:
      receivers: [otlp]
      processors: [{{ if and (eq $signal "traces") (lt $share 1.0) }}probabilistic_sampler, {{ end }}batch]
      exporters: [otlp/forward]
    {{- end }}
    {{- end }}
    {{- if $programs }}
    {{- range $signal := $ofPrograms }}
    {{ $signal }}/programs:
      receivers: [otlp/programs]
      processors: [memory_limiter]
      exporters: [file/programs{{ if ne $signal "traces" }}-{{ $signal }}{{ end }}]
    {{- if $forward.endpoint }}
    {{ $signal }}/programs-forward:
      receivers: [otlp/programs]
      processors: [batch]
      exporters: [otlp/forward]
    {{- end }}
    {{- end }}
    {{- end }}
{{- end -}}
