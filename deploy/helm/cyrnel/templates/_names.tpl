{{- define "cyrnel.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "cyrnel" .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-cyrnel" .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cyrnel.selector" -}}
app.kubernetes.io/name: cyrnel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "cyrnel.labels" -}}
{{ include "cyrnel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "cyrnel.secret" -}}
{{- if .Values.secret.existingSecret -}}
{{- .Values.secret.existingSecret -}}
{{- else if .Values.secret.values -}}
{{- include "cyrnel.name" . -}}
{{- else -}}
{{- fail "Cyrnel needs DATABASE_URL and CYRNEL_API_KEY: set secret.existingSecret to the name of a Secret that holds them (docs/kubernetes.md)." -}}
{{- end -}}
{{- end -}}

{{- define "cyrnel.serviceAccount" -}}
{{- .Values.serviceAccount.existingName | default (include "cyrnel.name" .) -}}
{{- end -}}

{{- define "cyrnel.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
