{{/* One NetworkPolicy: (dict "root" . "component" "peers" "ingress" (list ...) "egress" (list ...)). */}}
{{- define "trellis.policy" -}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "trellis.name" .root }}-{{ .component }}
  {{- include "trellis.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "trellis.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress: {{- .ingress | default list | toYaml | nindent 4 }}
  egress: {{- .egress | default list | toYaml | nindent 4 }}
{{ end -}}

{{/* The pods of some parts of this release, as JSON: (dict "root" . "components" (list "peers")). */}}
{{- define "trellis.policy.pods" -}}
{{- $pods := list -}}
{{- range .components -}}
{{- $labels := include "trellis.selector" (dict "root" $.root "component" .) | fromYaml -}}
{{- $pods = append $pods (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- dict "pods" $pods | toJson -}}
{{- end -}}
