{{/* What all pods of a release share: (dict "root" . "place" $nodesOfTheirOwn). */}}
{{- define "trellis.pod" -}}
enableServiceLinks: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- $place := default dict .place }}
{{- with merge dict (default dict $place.nodeSelector) .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat .root.Values.tolerations (default list $place.tolerations) }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "trellis.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "trellis.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
A claim that one node alone can mount keeps the pods that use it together: beside the coordinator, or, where there
is none, beside each other. Kubernetes lets the first one in, because it is what it asks for itself.
*/}}
{{- define "trellis.besideVolume" -}}
{{- if eq .root.Values.storage.accessMode "ReadWriteOnce" }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          {{- if (include "trellis.experiment" .root | fromJson).virtual }}
          matchLabels:
            app.kubernetes.io/name: trellis
            app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
          matchExpressions:
            - key: app.kubernetes.io/component
              operator: In
              values: [analysis, results]
          {{- else }}
          matchLabels:
            {{- include "trellis.selector" (dict "root" .root "component" "coordinator") | nindent 12 }}
          {{- end }}
{{- end }}
{{- end -}}

{{- define "trellis.inputs.mount" -}}
{{- if .Values.inputs.existingClaim }}
- name: inputs
  mountPath: /inputs
  readOnly: true
{{- end }}
{{- end -}}

{{- define "trellis.inputs.volume" -}}
{{- with .Values.inputs.existingClaim }}
- name: inputs
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- end -}}

{{- define "trellis.inputs.environment" -}}
{{- if .Values.inputs.existingClaim }}
- name: TRELLIS_DATA
  value: /inputs
{{- end }}
{{- end -}}

{{- define "trellis.environment.address" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- end -}}
