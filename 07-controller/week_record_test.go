package controller_test

// This file records a simulated week that goes wrong, and the same story on the solutions, for `workshop show`.

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	solution "client-go-workshop/solutions/07-controller"
)

// runner is a controller, which differs between the two stages in its type only.
type runner interface{ Run(ctx context.Context) }

// stage is the code on which a story is played.
type stage struct {
	below       func() layers.Layers
	newInformer func(below layers.Layers, lw cache.ListerWatcher, example runtime.Object,
		options cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	newController func(logger klog.Logger, config controller.Config) (runner, error)
}

var (
	yourStage = stage{
		below: func() layers.Layers { return below }, newInformer: controller.NewSharedIndexInformerOn,
		newController: func(logger klog.Logger, config controller.Config) (runner, error) {
			return controller.New(logger, config)
		},
	}
	solutionStage = stage{
		below: func() layers.Layers { return solutions.Layers }, newInformer: solution.NewSharedIndexInformerOn,
		newController: func(logger klog.Logger, config controller.Config) (runner, error) {
			return solution.New(logger, solution.Config(config))
		},
	}
)

// record plays a story twice, on the code under test and on the solutions. It saves both runs, and returns the command
// that shows them. It returns "" if the story goes well this time.
func record(t *testing.T, seed uint64, story []scene) (command string) {
	if !recorder.Saves() {
		return ""
	}
	title := fmt.Sprintf("Week %d, shortened to %s: ", seed, failure.Count(len(story), "scene"))
	p, wrong := playRecorded(t, title+"your code", story, yourStage)
	if p == nil {
		return ""
	}
	wrong.Wrong = pipeline.Wrong{Key: p.key, Step: p.step,
		Text: fmt.Sprintf("%s: wanted %s, got %s. %s", p.value, p.wanted, p.got, p.rule)}
	_, right := playRecorded(t, title+"the solution", story, solutionStage)
	command, err := recorder.Save(fmt.Sprint("week-", seed), wrong, right)
	if err != nil {
		return "no recording: " + err.Error()
	}
	return command
}

// playRecorded plays a story and returns its recording.
func playRecorded(t *testing.T, title string, story []scene, on stage) (p *problem, r pipeline.Recording) {
	guard.Test(t, weekRule, func(t *guard.T) {
		p, r.Log = simulate(t, story, &on)
	})
	r.Title = title
	return p, r
}
