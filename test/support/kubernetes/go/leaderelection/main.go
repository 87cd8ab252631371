// A candidate made of client-go's own leader election, for Tenure to contend with. It keeps the library's
// timing, prints one JSON line for each change, and on SIGTERM releases the Lease and exits.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type change struct {
	At       string `json:"at"`
	Event    string `json:"event"`
	Identity string `json:"identity"`
}

var printing sync.Mutex

func say(event, identity string) {
	printing.Lock()
	defer printing.Unlock()
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	if err := json.NewEncoder(os.Stdout).Encode(change{At: at, Event: event, Identity: identity}); err != nil {
		log.Fatal(err)
	}
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	namespace := flag.String("namespace", "default", "namespace of the Lease")
	name := flag.String("name", "", "name of the Lease")
	identity := flag.String("identity", "", "identity of this candidate")
	lease := flag.Duration("lease", 15*time.Second, "duration of the Lease")
	renew := flag.Duration("renew", 10*time.Second, "how long a leader tries to renew")
	retry := flag.Duration("retry", 2*time.Second, "pause between two attempts")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: *name, Namespace: *namespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
	}
	elector := leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   *lease,
		RenewDeadline:   *renew,
		RetryPeriod:     *retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("leading", *identity) },
			OnStoppedLeading: func() { say("stopped", *identity) },
			OnNewLeader:      func(holder string) { say("holder", holder) },
		},
	}
	// One run of the library ends with the loss of the Lease; a candidate stands again.
	for running.Err() == nil {
		leaderelection.RunOrDie(running, elector)
	}
	say("exit", *identity)
}
