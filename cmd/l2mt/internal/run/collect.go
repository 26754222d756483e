package run

import (
	"context"
	"errors"

	"l2mt/data/experience"
	"l2mt/data/progress"
	"l2mt/train/collect"
)

// Collection is experience to be made.
type Collection struct {
	// Out is the directory of the experience. If it has some, only what is missing
	// is added.
	Out      string
	Problems *experience.Problems
	Config   collect.Config
	Workers  int
	Progress progress.Reporter
	Remark   Remark
}

// Collect makes experience in a directory that has the problems too.
func Collect(ctx context.Context, c Collection) (s collect.Summary, err error) {
	if _, err := c.Problems.Problem(0); err != nil { // before there is a directory
		return s, err
	}
	reference, err := c.Problems.Reference()
	if err != nil {
		return s, err
	}
	manifest := c.Config.Manifest(reference, "l2mt "+CurrentVersions().L2MT)
	collector, err := collect.Open(c.Out, manifest, c.Config)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, collector.Close()) }()
	if c.Config.Shards > 1 {
		c.Remark("shard %d (from 0) of %d", c.Config.Shard, c.Config.Shards)
	}
	for _, w := range collector.Warnings() {
		c.Remark("warning: %v", w)
	}
	// The problems come before the first tuple, so that no store is without them.
	if err := c.Problems.Keep(c.Out); err != nil {
		return s, err
	}
	defer WhenCancelled(ctx, func() {
		c.Remark("finishing the tuples at hand; interrupt again to leave them")
	})()
	s, err = collector.Run(ctx, c.Problems, collect.Options{Workers: c.Workers, Progress: c.Progress})
	c.Remark("%d tuples made, %d of them failed; %d were there before", s.Made, s.Failed-s.Perfect, s.Had)
	if s.Perfect > 0 {
		c.Remark("%d have no relative error, because single-task learning makes no test error on their problems", s.Perfect)
	}
	if s.Failed > s.Perfect {
		c.Remark("l2mt experience list --failed %s says why", c.Out)
	}
	return s, err
}
