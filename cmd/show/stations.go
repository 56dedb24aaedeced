package main

// This file has the stations of the pipeline: a layer, its chapter, and what the chapter says about it.

import "client-go-workshop/internal/testkit/pipeline"

// layer is a station of the page. Its tour has the number of its chapter.
type layer struct {
	Seam   pipeline.Seam
	Number string // of the chapter
	Title  string
	Folder string
	Text   string
}

// stations are the layers in the order in which a change passes them.
var stations = []layer{
	{pipeline.Request, "01", "RESTClient", "01-restclient",
		"It builds the URL of a request, sends it, and makes an object " +
			"or an error of the answer. It retries only if the answer says when."},
	{pipeline.Stream, "02", "Watch stream", "02-watch-stream",
		"It splits the bytes of a watch into frames, decodes each " +
			"frame to an event, and sends the events on a channel. Half a frame is no event."},
	{pipeline.Reflector, "03", "Reflector", "03-reflector",
		"It lists all objects once, and then watches from the version " +
			"of the list. If a watch ends it goes on from its last version, or lists again if the API server has forgotten it."},
	{pipeline.Delta, "04", "DeltaFIFO", "04-deltafifo",
		"It keeps the changes of each key until the consumer pops them " +
			"together. Replace finds the objects that were deleted while there was no watch."},
	{pipeline.Store, "05", "Indexer", "05-indexer",
		"It has the objects by key, and tables from indexed values to keys. " +
			"The store changes before a handler is called."},
	{pipeline.Handler, "07", "Handlers", "07-controller",
		"Each handler has a ring of notifications and a goroutine of its " +
			"own. So a slow handler holds up neither the store nor the others."},
	{pipeline.Queue, "06", "Workqueue", "06-workqueue",
		"It has each key once, gives a key to one worker at a time, and " +
			"brings a key back after a wait if its work failed."},
	{pipeline.Worker, "07", "Workers", "07-controller",
		"A worker takes a key, reads the current state from the Indexers, " +
			"and writes what is missing to the API server."},
}

// Tour returns the title of the chapter's tour.
func (l layer) Tour() string {
	for _, t := range tours {
		if t.Name == l.Number {
			return t.Title
		}
	}
	return ""
}
