{{- define "svc.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: svc
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svc.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "svc.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "svc.nodeServiceAccount" -}}
{{- if or .Values.serviceAccount.create .Values.serviceAccount.name -}}
{{ include "svc.serviceAccount" . }}-node
{{- else -}}
{{ include "svc.serviceAccount" . }}
{{- end -}}
{{- end -}}

{{- /* For objects outside of the release's namespace: releases of other namespaces may have the same name. */}}
{{- define "svc.clusterName" -}}
{{- include "svc.name" . }}:{{ .Release.Namespace -}}
{{- end -}}

{{- define "svc.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "svc.tokenSecret" -}}
{{- .Values.token.existingSecret | default (printf "%s-token" (include "svc.name" .)) -}}
{{- end -}}
