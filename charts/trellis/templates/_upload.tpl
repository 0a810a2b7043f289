{{/* What the analysis is told of the object store that it sends the run to. */}}
{{- define "trellis.upload.environment" -}}
{{- $upload := .Values.results.upload -}}
{{- if $upload.to }}
{{- with $upload.credentials }}
{{- range $key := list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $upload.credentials | quote }}
      key: {{ $key }}
      {{- if eq $key "AWS_SESSION_TOKEN" }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
{{- with $upload.endpoint }}
- name: AWS_ENDPOINT_URL
  value: {{ . | quote }}
{{- end }}
{{- with $upload.region }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The port of that store: 443, or the one that its address names. */}}
{{- define "trellis.upload.port" -}}
{{- $address := urlParse (.Values.results.upload.endpoint | default "https://s3") -}}
{{- $port := ternary "80" "443" (eq $address.scheme "http") -}}
{{- if regexMatch ":[0-9]+$" $address.host -}}
{{- $port = splitList ":" $address.host | last -}}
{{- end -}}
{{- $port -}}
{{- end -}}
