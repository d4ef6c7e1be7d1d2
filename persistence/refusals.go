package persistence

import (
	"github.com/comanda-dev/comanda/app"
)

// refuse returns an error with a code about one member of a request.
func refuse(code app.Code, path, message string) error {
	return &app.Error{Code: code, Message: path + " " + message, Details: []app.Detail{{Path: path, Message: message}}}
}

// errorOr returns err, or otherwise if err is nil.
func errorOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
