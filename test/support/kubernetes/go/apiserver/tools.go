//go:build tools

// Package apiserver pins the version of the API server that the tests run.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
