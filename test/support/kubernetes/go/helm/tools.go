//go:build tools

// Package helm pins the version of Helm that the tests run.
package helm

import _ "helm.sh/helm/v4/cmd/helm"
