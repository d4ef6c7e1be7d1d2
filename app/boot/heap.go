package boot

import "runtime"

// heapFloor is the size of an unused part of a worker's heap. The garbage collector runs whenever the heap has doubled.
// The data of a worker is small, so that a worker under load would collect garbage several times a second. The system
// provides no memory for pages that are never written, and a heap without pointers is not scanned.
const heapFloor = 64 << 20

// keepHeapFloor allocates heapFloor and returns the function that releases it.
func keepHeapFloor() (release func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
