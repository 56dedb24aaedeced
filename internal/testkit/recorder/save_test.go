package recorder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// The folder keeps the newest recordings, and a recording replaces an older one of its name.
func TestSave_keeps_the_newest(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "recordings")
	t.Setenv(env.Recordings, folder)
	require.True(t, recorder.Saves())
	for n := range 12 {
		run := pipeline.Recording{Log: pipeline.NewLog(pipeline.Limit), Title: "a title"}
		command, err := recorder.Save(fmt.Sprint("week-", n), run)
		require.NoError(t, err)
		path := filepath.Join(folder, fmt.Sprintf("week-%d.json", n))
		require.Equal(t, "go tool workshop show "+filepath.ToSlash(path), command)
		file, err := os.Open(path)
		require.NoError(t, err)
		read, err := pipeline.ReadRecordings(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, "a title", read[0].Title)
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 10)
	require.NoFileExists(t, filepath.Join(folder, "week-1.json"))
	t.Setenv(env.Recordings, recorder.Off)
	require.False(t, recorder.Saves())
}

// Each write on the server is recorded once, also that of a worker whose answer was lost.
func TestServe_records_each_change(t *testing.T) {
	api := fakeapi.Start(t)
	rec := recorder.New()
	rec.Serve(api)
	web := deployment("web", 3)
	api.Create(web)
	web.Spec.Replicas = new(int32(5))
	api.Update(web)
	api.Delete(web)
	var got []string
	for _, s := range rec.Log.Steps(9, 9) {
		got = append(got, fmt.Sprint(s.Seam, " ", s.Verb, " ", s.Kind, " ", s.Key, "@", s.Version, " ", s.Text))
	}
	require.Equal(t, []string{"server wrote Deployment default/web@2 replicas 3",
		"server wrote Deployment default/web@3 replicas 5", "server removed Deployment default/web@4 replicas 5"}, got)
}
