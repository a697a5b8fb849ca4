{{- define "nod.selector" -}}
app.kubernetes.io/name: nod
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nod.labels" -}}
{{ include "nod.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
