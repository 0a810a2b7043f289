{{/*
Labels and annotations of a pod, as trellis.metadata takes them; one that is "lasting" is not moved by an
autoscaler. A mesh's proxy would delay what peers send, and keep the pods of Jobs from ending.
*/}}
{{- define "trellis.pod.metadata" -}}
{{- $annotations := default dict .annotations -}}
{{- if .lasting -}}
{{- $_ := set $annotations "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" -}}
{{- end -}}
{{- if not .root.Values.mesh.enabled -}}
{{- $annotations = merge $annotations (dict "sidecar.istio.io/inject" "false" "linkerd.io/inject" "disabled") -}}
{{- end -}}
{{- include "trellis.metadata" (merge (dict "annotations" $annotations) .) -}}
{{- end -}}

{{/*
What all pods of a release share: (dict "root" . "place" $nodesOfTheirOwn "beside" true). A pod that mounts the
volume is "beside" the others that do.
*/}}
{{- define "trellis.pod" -}}
enableServiceLinks: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- $place := default dict .place }}
{{- with merge dict (default dict $place.nodeSelector) .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat .root.Values.tolerations (default list $place.tolerations) }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- $affinity := deepCopy (default .root.Values.affinity $place.affinity) }}
{{- if and .beside (eq .root.Values.storage.accessMode "ReadWriteOnce") }}
{{- $pods := $affinity.podAffinity | default dict }}
{{- $terms := $pods.requiredDuringSchedulingIgnoredDuringExecution | default list }}
{{- $terms = append $terms (include "trellis.besideVolume" . | fromYaml) }}
{{- $_ := set $affinity "podAffinity" (set $pods "requiredDuringSchedulingIgnoredDuringExecution" $terms) }}
{{- end }}
{{- with $affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The annotations of a pod that tell Prometheus where to scrape it. */}}
{{- define "trellis.scraped" -}}
{{- if .Values.prometheus.scrape -}}
prometheus.io/scrape: "true"
prometheus.io/port: "9100"
prometheus.io/path: /metrics
{{- end -}}
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
The most connections of a program that hosts call: two of each, since one that comes back may come before its old
connection is gone, and some for the others. A connection of a stranger takes a bounded part of memory (docs/kubernetes.md, Security).
*/}}
{{- define "trellis.connections" -}}
{{- add 100 (mul 2 (int (include "trellis.experiment" . | fromJson).hosts)) -}}
{{- end -}}

{{/* How long a program may take to start: as long as the coordinator waits for pods. */}}
{{- define "trellis.startup" -}}
periodSeconds: 2
timeoutSeconds: 5
failureThreshold: 450
{{- end -}}

{{/*
A claim that one node alone can mount keeps the pods that use it together: beside the coordinator, or, where there
is none, beside each other. Kubernetes lets the first one in, because it is what it asks for itself.
*/}}
{{- define "trellis.besideVolume" -}}
topologyKey: kubernetes.io/hostname
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
  matchLabels: {{- include "trellis.selector" (dict "root" .root "component" "coordinator") | nindent 4 }}
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
    claimName: {{ . | quote }}
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
