{{/* The spec of the Job of the analysis, which on the virtual clock also runs the trials; indented by two. */}}
{{- define "trellis.analysis.spec" }}
{{- $name := include "trellis.name" . -}}
{{- $executors := .Values.analysis.executors -}}
{{- $keys := include "trellis.programs.keys" (dict "root" .) | fromJson -}}
{{- $virtual := (include "trellis.experiment" . | fromJson).virtual }}
  backoffLimit: 3
  podReplacementPolicy: Failed
  template:
    metadata:
      {{- include "trellis.pod.metadata" (dict "root" . "component" "analysis" "lasting" true) | nindent 6 }}
    spec:
      {{- include "trellis.pod" (dict "root" . "beside" true) | nindent 6 }}
      restartPolicy: Never
      serviceAccountName: {{ printf "%s%s" $name (ternary "-analysis" "" (gt (int $executors.count) 0)) | quote }}
      automountServiceAccountToken: {{ gt (int $executors.count) 0 }}
      terminationGracePeriodSeconds: 60
      securityContext: {{- include "trellis.podSecurity" . | nindent 8 }}
      containers:
        - name: analysis
          image: {{ .Values.images.analysis | quote }}
          imagePullPolicy: {{ .Values.images.pullPolicy }}
          command:
            - python
            - -m
            {{- if $virtual }}
            - services.spark_driver
            {{- else }}
            - services.analysis
            {{- end }}
            - --experiment=/etc/trellis-experiment/experiment.yaml
            - --run=/var/lib/trellis/run
            {{- if .Values.schedule.cron }}
            - --keep={{ .Values.schedule.keep }}
            {{- end }}
            {{- with .Values.results.upload.to }}
            - --upload={{ . }}
            {{- end }}
            {{- if $executors.count }}
            - --executors={{ $executors.count }}
            {{- end }}
          {{- $programs := include "trellis.programs.environment" (dict "root" . "container" "analysis") }}
          {{- $upload := include "trellis.upload.environment" . }}
          {{- if or $virtual $executors.count $programs $upload }}
          env:
            {{- with $upload }}
            {{- . | trim | nindent 12 }}
            {{- end }}
            {{- with $programs }}
            {{- . | trim | nindent 12 }}
            {{- with include "trellis.programs.certificates" $ }}
            {{- . | trim | nindent 12 }}
            {{- end }}
            {{- end }}
            {{- if .Values.schedule.cron }}
            - name: TRELLIS_TURN
              valueFrom:
                fieldRef:
                  fieldPath: metadata.labels['batch.kubernetes.io/job-name']
            {{- end }}
            {{- if $virtual }}
            - name: TRELLIS_COMMAND
              value: helm install {{ $name }} charts/trellis --set-file experiment=experiment.yaml
            {{- include "trellis.inputs.environment" . | nindent 12 }}
            {{- end }}
            {{- if $executors.count }}
            {{- include "trellis.environment.address" . | nindent 12 }}
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: TRELLIS_EXECUTOR_TEMPLATE
              value: /etc/trellis/executor.yaml
            - name: TRELLIS_EXECUTOR_IMAGE
              value: {{ .Values.images.analysis | quote }}
            - name: TRELLIS_EXECUTOR_PULL_POLICY
              value: {{ .Values.images.pullPolicy | quote }}
            - name: TRELLIS_EXECUTOR_CPU
              value: {{ $executors.cpu | quote }}
            {{- with $executors.cpuLimit }}
            - name: TRELLIS_EXECUTOR_CPU_LIMIT
              value: {{ . | quote }}
            {{- end }}
            - name: TRELLIS_EXECUTOR_CORES
              value: {{ $executors.cores | quote }}
            - name: TRELLIS_EXECUTOR_MEMORY
              value: {{ $executors.memory | quote }}
            {{- end }}
          {{- end }}
          terminationMessagePolicy: FallbackToLogsOnError
          securityContext: {{- include "trellis.containerSecurity" . | nindent 12 }}
          resources: {{- toYaml .Values.analysis.resources | nindent 12 }}
          volumeMounts:
            - name: run
              mountPath: /var/lib/trellis
            - name: tmp
              mountPath: /tmp
            {{- if $executors.count }}
            - name: executor
              mountPath: /etc/trellis
              readOnly: true
            {{- end }}
            - name: experiment
              mountPath: /etc/trellis-experiment
              readOnly: true
            {{- if $keys }}
            {{- include "trellis.trust.mounts" (dict "root" . "tls" true) | nindent 12 }}
            {{- end }}
            {{- if $virtual }}
            {{- include "trellis.inputs.mount" . | nindent 12 }}
            {{- end }}
      volumes:
        - name: run
          persistentVolumeClaim:
            claimName: {{ include "trellis.claim" . | quote }}
        - name: tmp
          emptyDir:
            sizeLimit: {{ .Values.analysis.scratch }}
        {{- if $executors.count }}
        - name: executor
          configMap:
            name: {{ $name }}-executor
        {{- end }}
        - name: experiment
          configMap:
            name: {{ $name }}-experiment
        {{- if $keys }}
        {{- include "trellis.trust.volumes" (dict "root" . "keys" $keys "tls" true) | nindent 8 }}
        {{- end }}
        {{- if $virtual }}
        {{- include "trellis.inputs.volume" . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* A failure unless the schedule is one that the chart can keep. */}}
{{- define "trellis.schedule.check" -}}
{{- if .Values.schedule.cron -}}
{{- if not (include "trellis.experiment" . | fromJson).virtual -}}
{{- fail "schedule.cron is for experiments on the virtual clock, whose runs are a Job each. In real time a release runs once: install it regularly, such as from CI, with queue.enabled" -}}
{{- end -}}
{{- if .Values.queue.enabled -}}
{{- fail "schedule.cron and queue.enabled both say when the experiment runs. Choose one of them" -}}
{{- end -}}
{{- end -}}
{{- end -}}
