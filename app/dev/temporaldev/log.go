package temporaldev

import (
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes the server's warnings and errors to out. Where the server would end the whole process, it reports
// why to failed instead.
func newLogger(out io.Writer, failed chan<- error) log.Logger {
	core := zapcore.NewCore(
		zapcore.NewJSONEncoder(log.DefaultZapEncoderConfig),
		zapcore.Lock(zapcore.AddSync(out)),
		zapcore.WarnLevel,
	)
	return log.NewZapLogger(zap.New(core,
		zap.WithFatalHook(fatalHook{failed}),
		zap.ErrorOutput(zapcore.AddSync(io.Discard)), // some goroutines outlive the server, and its log
	))
}

// fatalHook halts the goroutine that logs a fatal error instead of ending the process.
type fatalHook struct{ failed chan<- error }

// OnWrite reports the first fatal error, drops those that follow from it, and never returns: the caller does not
// expect to live on.
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

// discardLogs is for clients whose errors are returned anyway.
func discardLogs() *slog.Logger { return slog.New(slog.DiscardHandler) }
