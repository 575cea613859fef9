package main

import (
	"context"
	"fmt"
	"time"

	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
)

// measureReplay compares a whole replay with importing the file and counting
// every message of it once.
func measureReplay(ctx context.Context) error {
	files, err := sessionFiles()
	if err != nil {
		return err
	}
	o := replay.Options{Catalog: catalog.Default(), Counter: vocabulary.Counter}
	once := func(path string) error {
		s, err := open(path)
		if err != nil {
			return err
		}
		setup, err := replay.Prepare(s, o)
		if err != nil {
			return err
		}
		r := model.Request{Instructions: s.Instructions, Tools: s.Tools}
		for _, m := range s.Transcript.All() {
			r.Messages = append(r.Messages, m)
		}
		setup.Counter.Request(r)
		return nil
	}
	whole := func(path string) error {
		s, err := open(path)
		if err != nil {
			return err
		}
		_, err = replay.Run(ctx, path, s, o)
		return err
	}
	fmt.Println("whole replay against importing and counting once:")
	var onceAll, wholeAll time.Duration
	for _, path := range files {
		var a, b []time.Duration
		for range runs {
			d, err := timed(func() error { return once(path) })
			if err != nil {
				return err
			}
			a = append(a, d)
			if d, err = timed(func() error { return whole(path) }); err != nil {
				return err
			}
			b = append(b, d)
		}
		onceAll += median(a)
		wholeAll += median(b)
		fmt.Printf("  %-55s %8v %8v  %.2f x\n", short(path), median(a).Round(time.Millisecond/10), median(b).Round(time.Millisecond/10), ratio(median(b), median(a)))
	}
	fmt.Printf("  all files: %.2f x (at most 2)\n", ratio(wholeAll, onceAll))
	return nil
}
