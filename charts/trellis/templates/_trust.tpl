{{/* The Secret with the tokens of this release. */}}
{{- define "trellis.trust.secret" -}}
{{- .Values.trust.existingSecret | default (printf "%s-trust" (include "trellis.name" .)) -}}
{{- end -}}

{{/* The Secret with the certificate of this release; "" if pods talk in the clear. */}}
{{- define "trellis.tls.secret" -}}
{{- $tls := .Values.trust.tls -}}
{{- if $tls.enabled -}}
{{- if and $tls.existingSecret $tls.issuer.name -}}
{{- fail "trust.tls has both existingSecret and issuer.name, but the certificate comes from one of them" -}}
{{- end -}}
{{- if not (or $tls.existingSecret $tls.issuer.name) -}}
{{- fail "trust.tls.enabled needs a certificate. Name a Secret (trust.tls.existingSecret), or an issuer of cert-manager (trust.tls.issuer.name)" -}}
{{- end -}}
{{- $tls.existingSecret | default (printf "%s-tls" (include "trellis.name" .)) -}}
{{- end -}}
{{- end -}}

{{/* The DNS name in that certificate. */}}
{{- define "trellis.tls.name" -}}
{{- .Values.trust.tls.name | default (printf "%s.%s.svc" (include "trellis.name" .) .Release.Namespace) -}}
{{- end -}}

{{/* What a pod is given of them: (dict "root" . "keys" (dict "token" "token") "tls" true), keys by file name. */}}
{{- define "trellis.trust.volumes" -}}
- name: trust
  secret:
    secretName: {{ include "trellis.trust.secret" .root | quote }}
    defaultMode: 0440
    items:
      {{- range $file, $key := .keys }}
      - key: {{ $key }}
        path: {{ $file }}
      {{- end }}
{{- with include "trellis.tls.secret" .root }}
{{- if $.tls }}
- name: tls
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end -}}

{{- define "trellis.trust.mounts" -}}
- name: trust
  mountPath: /etc/trellis-trust
  readOnly: true
{{- with include "trellis.tls.secret" .root }}
{{- if $.tls }}
- name: tls
  mountPath: /etc/trellis-tls
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* Where programs find them: paths, for what is in the environment is easily told. */}}
{{- define "trellis.trust.environment" -}}
- name: TRELLIS_TOKEN_FILE
  value: /etc/trellis-trust/token
{{- if include "trellis.tls.secret" . }}
- name: TRELLIS_CERTIFICATES
  value: /etc/trellis-tls
- name: TRELLIS_CERTIFICATE_NAME
  value: {{ include "trellis.tls.name" . | quote }}
{{- end }}
{{- end -}}

{{- define "trellis.collector.endpoint" -}}
http{{ if include "trellis.tls.secret" . }}s{{ end }}://{{ include "trellis.name" . }}-collector:4317
{{- end -}}
