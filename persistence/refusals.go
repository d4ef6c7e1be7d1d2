package persistence

import (
	"github.com/comanda-dev/comanda/app"
)

// refuse returns an error with a code that concerns one member of the request.
func refuse(code app.Code, path, message string) error {
	return &app.Error{Code: code, Message: path + " " + message, Details: []app.Detail{{Path: path, Message: message}}}
}
