package api

import "github.com/comanda-dev/comanda/app"

// storeParam is the parameter of operations on the data of a store. Requests embed it.
type storeParam struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id"`
}

// pageParams are the parameters of lists with cursors. Requests embed them.
type pageParams struct {
	Limit  int    `query:"limit" default:"20" validate:"pagesize"`
	Cursor string `query:"cursor" validate:"cursor"`
}

// page returns the limit of the page in rows and bytes.
func (p pageParams) page() app.PageLimit { return app.PageLimit{Rows: p.Limit, Bytes: maxPage} }

// checkSpan returns a fault if a period ends before it begins.
func checkSpan(from, to *app.Time) []app.Detail {
	if from != nil && to != nil && !from.Before(to.Time) {
		return []app.Detail{{Path: "to", Message: "must be after from"}}
	}
	return nil
}
