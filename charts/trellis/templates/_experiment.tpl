{{/*
What the chart needs to know of the experiment, as JSON: hosts, peers (the most of all variants), the
time scale (the smallest of them), whether sessions end with their pods, and whether trials are on the virtual clock, so that there are no pods of peers. Fails where the chart can tell that the release could not run it; the whole
file is checked by the Job <release>-check.
*/}}
{{- define "trellis.experiment" -}}
{{- if not .Values.experiment -}}
{{- fail "there is no experiment. Give its file: --set-file experiment=experiments/kubernetes-quickstart.yaml" -}}
{{- end -}}
{{- if gt (len .Values.experiment) 200000 -}}
{{- fail (printf "the experiment has %d characters, but Kubernetes takes 200000 beside a pod. Put long lists into files (inputs.existingClaim)" (len .Values.experiment)) -}}
{{- end -}}
{{- $spec := fromYaml .Values.experiment -}}
{{- if hasKey $spec "Error" -}}
{{- fail (printf "the experiment is no YAML mapping: %s. Give the file itself: --set-file experiment=FILE" $spec.Error) -}}
{{- end -}}
{{- range $key := list "runtime" "network" "vary" -}}
{{- if not (kindIs "map" (get $spec $key | default dict)) -}}
{{- fail (printf "the experiment's %q is no mapping" $key) -}}
{{- end -}}
{{- end -}}
{{- $runtime := $spec.runtime | default dict -}}
{{- $vary := $spec.vary | default dict -}}
{{- range $key, $choices := $vary -}}
{{- if not (kindIs "slice" $choices) -}}
{{- fail (printf "the experiment's vary.%s is no list" $key) -}}
{{- end -}}
{{- end -}}
{{- range $key := list "runtime" "runtime.kind" "runtime.hosts" -}}
{{- if hasKey $vary $key -}}
{{- fail (printf "the experiment varies %s, but a release has the same pods for all trials. Set one value under runtime, and run the others by themselves" $key) -}}
{{- end -}}
{{- end -}}
{{- $kind := toString ($runtime.kind | default "virtual") -}}
{{- if eq $kind "virtual" -}}
{{- dict "hosts" 0 "peers" 0 "timeScale" 1.0 "churnOnPods" false "virtual" true | toJson -}}
{{- else -}}
{{- if ne $kind "kubernetes" -}}
{{- fail (printf "the experiment's runtime.kind is %q, but in a cluster it is kubernetes or virtual. Write: runtime: {kind: kubernetes, hosts: 20}" $kind) -}}
{{- end -}}
{{- $hosts := 2.0 -}}
{{- if hasKey $runtime "hosts" -}}{{- $hosts = $runtime.hosts -}}{{- end -}}
{{- if or (not (kindIs "float64" $hosts)) (lt $hosts 1.0) (gt $hosts 20000.0) (ne (float64 $hosts) (floor $hosts)) -}}
{{- fail (printf "the experiment's runtime.hosts is %s, but it is a number of pods, from 1 to 20000" (toJson $hosts)) -}}
{{- end -}}
{{- $enforce := (append (get $vary "network.enforce" | default list) (($spec.network | default dict).enforce)) -}}
{{- range $network := get $vary "network" | default list -}}
{{- if kindIs "map" $network -}}{{- $enforce = append $enforce $network.enforce -}}{{- end -}}
{{- end -}}
{{- if and (has "netem" $enforce) (not .Values.netem.enabled) -}}
{{- fail "the experiment's network.enforce is netem, for which pods need NET_ADMIN. Allow it: --set netem.enabled=true" -}}
{{- end -}}
{{- $peers := $hosts -}}
{{- range append (get $vary "peers" | default list) $spec.peers -}}
{{- if kindIs "float64" . -}}{{- $peers = maxf $peers . -}}{{- end -}}
{{- end -}}
{{- $timeScale := 0.0 -}}
{{- range append (get $vary "runtime.time_scale" | default list) $runtime.time_scale -}}
{{- if and (kindIs "float64" .) (gt (float64 .) 0.0) -}}
{{- $timeScale = ternary (minf $timeScale .) . (gt $timeScale 0.0) -}}
{{- end -}}
{{- end -}}
{{- $churn := append (get $vary "runtime.churn" | default list) $runtime.churn -}}
{{- dict "hosts" (int $hosts) "peers" (int $peers) "timeScale" ($timeScale | default 1.0) "churnOnPods" (has "pods" $churn) "virtual" false | toJson -}}
{{- end -}}
{{- end -}}
