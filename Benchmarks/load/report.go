package main

import (
	"sort"
	"sync/atomic"
	"time"
)

// report says what a fleet has received since the last report. Times are in seconds.
type report struct {
	Received int     `json:"received"`
	Lost     int64   `json:"lost"`
	Median   float64 `json:"median"`
	P99      float64 `json:"p99"`
	Last     float64 `json:"last"`
}

// await returns the report as soon as so many notifications were received since the last one, or after the time.
func (f *fleet) await(count int, patience time.Duration) report {
	reached := make(chan struct{})
	f.mutex.Lock()
	if len(f.latencies) >= count {
		close(reached)
	} else {
		f.awaited, f.reached = count, reached
	}
	f.mutex.Unlock()
	select {
	case <-reached:
	case <-time.After(patience):
		f.mutex.Lock()
		f.reached = nil
		f.mutex.Unlock()
	}
	return f.report()
}

func (f *fleet) report() report {
	f.mutex.Lock()
	latencies := f.latencies
	f.latencies = nil
	f.mutex.Unlock()
	sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
	at := func(share float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return time.Duration(latencies[int(share*float64(len(latencies)-1))]).Seconds()
	}
	return report{len(latencies), atomic.LoadInt64(&f.lost), at(0.5), at(0.99), at(1)}
}
