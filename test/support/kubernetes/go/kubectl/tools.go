//go:build tools

// Package kubectl pins the version of kubectl that the tests run, beside that of the API server: its dependencies are others.
package kubectl

import _ "k8s.io/kubernetes/cmd/kubectl"
