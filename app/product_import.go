package app

// ImportAction is the effect of one row of an import on a product.
type ImportAction string

const (
	ImportCreate ImportAction = "CREATE"
	ImportUpdate ImportAction = "UPDATE"
	ImportNone   ImportAction = "NONE" // the product already has the values of the row
)

// MaxImportFaults is the largest number of details of an error of an import.
const MaxImportFaults = 100

// ImportActions lists all actions.
var ImportActions = [...]ImportAction{ImportCreate, ImportUpdate, ImportNone}

// ProductImport is the result of an import of products, or of its dry run (docs/behaviour.md#product-imports).
type ProductImport struct {
	DryRun    bool          `json:"dryRun"` // nothing was written
	Created   int           `json:"created"`
	Updated   int           `json:"updated"`
	Unchanged int           `json:"unchanged"`
	Rows      []ImportedRow `json:"rows"` // in the order of the import
}

// ImportedRow is the result of one row of an import.
type ImportedRow struct {
	Row           int          `json:"row"` // from 0, without the header line of a CSV, as in the paths of errors
	SKU           string       `json:"sku"`
	Action        ImportAction `json:"action"`
	ChangedFields []string     `json:"changedFields"` // of UPDATE; empty otherwise
}

// Add adds the result of the next row. fields are the names of the changed members of a product that exists.
func (i *ProductImport) Add(sku string, exists bool, fields []string) {
	row := ImportedRow{Row: len(i.Rows), SKU: sku, Action: ImportNone, ChangedFields: []string{}}
	switch {
	case !exists:
		row.Action = ImportCreate
		i.Created++
	case len(fields) > 0:
		row.Action, row.ChangedFields = ImportUpdate, fields
		i.Updated++
	default:
		i.Unchanged++
	}
	i.Rows = append(i.Rows, row)
}
