package temporaldev

import (
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes the warnings and errors of the server to out. It sends a fatal error to failed
// instead of ending the process.
func newLogger(out io.Writer, failed chan<- error) log.Logger {
	core := zapcore.NewCore(
		zapcore.NewJSONEncoder(log.DefaultZapEncoderConfig),
		zapcore.Lock(zapcore.AddSync(out)),
		zapcore.WarnLevel,
	)
	return log.NewZapLogger(zap.New(core,
		zap.WithFatalHook(fatalHook{failed}),
		zap.ErrorOutput(zapcore.AddSync(io.Discard)), // some goroutines still log after the log file is closed
	))
}

// fatalHook halts the goroutine that logs a fatal error instead of ending the process.
type fatalHook struct{ failed chan<- error }

// OnWrite reports the first fatal error and drops the following ones. It never returns, because callers of Fatal do not
// expect to continue.
func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	values := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		field.AddTo(values)
	}
	err := fmt.Errorf("the Temporal server: %s", entry.Message)
	if cause, ok := values.Fields["error"]; ok {
		err = fmt.Errorf("%w: %v", err, cause)
	}
	select {
	case h.failed <- err:
	default:
	}
	select {}
}

// discardLogs returns a logger for clients whose errors are returned to the caller.
func discardLogs() *slog.Logger { return slog.New(slog.DiscardHandler) }
