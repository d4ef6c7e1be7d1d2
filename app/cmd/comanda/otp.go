package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/comanda-dev/comanda/app/boot"
)

// resetOTP runs the command admin reset-otp.
func resetOTP(ctx context.Context, args []string, environ map[string]string, stdout io.Writer) error {
	flags := flag.NewFlagSet("reset-otp", flag.ContinueOnError)
	email := flags.String("email", "", "")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	if err := boot.ResetOTP(ctx, environ, time.Now(), *email); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "switched off the one-time passwords of %s\n", *email)
	return nil
}
