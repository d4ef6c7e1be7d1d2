package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/comanda-dev/comanda/app/dev/bench/sender"
)

// minimalRetry is the first delay of the product's retry schedule.
const minimalRetry = time.Minute

// runMinimal is the process of the minimal sender. It reads the environment of a worker.
func runMinimal(ctx context.Context) error {
	trusted := x509.NewCertPool()
	file := os.Getenv("COMANDA_EGRESS_CA_FILE")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !trusted.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s contains no certificate", file)
	}
	return sender.Run(ctx, sender.Config{
		URL: os.Getenv("COMANDA_SYSTEM_DATABASE_URL"), RootCAs: trusted, RetryIn: minimalRetry,
	})
}
