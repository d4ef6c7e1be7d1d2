package identity

import (
	"sync"
	"time"
)

// zones caches *time.Location by name, because loading one reads a file.
var zones sync.Map

// zoneOf returns the location with an IANA name.
func zoneOf(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}
