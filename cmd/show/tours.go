package main

// This file has the guided tours, one for each chapter. A tour is data: each step says something, does something, waits
// for a state, and may ask for a prediction first. session.go plays them.

import (
	"strings"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// tour is a list of steps on a new pipeline.
type tour struct {
	Name  string // the chapter's number
	Title string
	Steps []stop
}

// stop is a step of a tour.
type stop struct {
	Seam    pipeline.Seam // where to look
	Say     string
	Ask     string   // the prediction, if there is one
	Options []string // the possible answers
	Right   int
	Answer  string // after the prediction
	Do      []order
	Until   func(s *pipeline.State) bool
}

// do is a short order.
func do(action, name string, n int) order { return order{Action: action, Name: name, N: n} }

func deployments(s *pipeline.State) *pipeline.Informer {
	if i := s.Informers[recorder.Deployment]; i != nil {
		return i
	}
	return &pipeline.Informer{}
}

// watching reports whether both Reflectors watch.
func watching(s *pipeline.State) bool {
	n := 0
	for _, i := range s.Informers {
		if i.Reflector.Phase == "watching" {
			n++
		}
	}
	return n == 2
}

// cached waits until the Indexer has an object with this note.
func cached(key, note string) func(*pipeline.State) bool {
	return func(s *pipeline.State) bool {
		o, exists := deployments(s).Store.Objects[key]
		return exists && strings.Contains(o.Note, note)
	}
}

// budgeted waits until the API server has the budget with this note, and the workers are idle.
func budgeted(key, note string) func(*pipeline.State) bool {
	return func(s *pipeline.State) bool {
		o, exists := s.Server.Objects[recorder.Budget+" "+key]
		return exists && strings.Contains(o.Note, note) && len(s.Queue.Processing) == 0
	}
}

func waits(s *pipeline.State) bool { return len(s.Queue.Waiting) > 0 }

var beginning = stop{Seam: pipeline.Reflector,
	Say: "This is a controller with two informers, on an API server without " +
		"objects. Both Reflectors have received their first list, and watch now.", Until: watching}

var tours = []tour{
	{"01", "A request that fails", []stop{
		{Seam: pipeline.Request, Say: "Two requests are open: the watches of the two Reflectors. They have had the answer " +
			"200, and their bodies do not end.", Until: watching},
		{Seam: pipeline.Request, Say: "You create a Deployment with 3 replicas.",
			Ask:     "How many requests does the controller send?",
			Options: []string{"None", "One: it creates the budget", "Two: it reads the Deployment first"}, Right: 1,
			Do: []order{do("create", "web", 3)}, Until: budgeted("default/web", "minAvailable 2"),
			Answer: "One POST. The worker reads the Deployment from the Indexer, so only writes are requests."},
		{Seam: pipeline.Request, Say: "The API server answers the next three writes with 500, without the header " +
			"Retry-After. You scale the Deployment to 5.",
			Ask:     "Does the client send the request again?",
			Options: []string{"Yes, after a second", "No: it returns the error"}, Right: 1,
			Do: []order{do("fail writes", "", 0), do("scale", "web", 5)}, Until: waits,
			Answer: "The client retries only if the answer says when. The error reaches the worker, and the key waits in the " +
				"workqueue."},
		{Seam: pipeline.Queue, Say: "The key comes back, and each wait is longer than the one before. The fourth request " +
			"succeeds.", Until: budgeted("default/web", "minAvailable 4")},
		{Seam: pipeline.Request, Say: "The API server stops.",
			Ask:     "What do the two open watches do?",
			Options: []string{"They stay open, and are silent", "They break at once"}, Right: 1,
			Do:     []order{do("down", "", 0)},
			Until:  func(s *pipeline.State) bool { return deployments(s).Reflector.Phase == "waiting" },
			Answer: "The connections are reset. New ones are refused, so the Reflectors wait and try again."},
		{Seam: pipeline.Reflector, Say: "The API server is back. The Reflectors notice it after their back-off.",
			Do: []order{do("up", "", 0)}, Until: watching},
	}},
	{"02", "Bytes, frames, events", []stop{
		beginning,
		{Seam: pipeline.Stream, Say: "You create a Deployment. The controller creates its budget.",
			Ask:     "How many frames arrive?",
			Options: []string{"One", "Two, on one watch", "Two, one on each watch"}, Right: 2,
			Do: []order{do("create", "web", 3)}, Until: budgeted("default/web", "minAvailable 2"),
			Answer: "A frame is the JSON of one event. The Deployment comes on one watch, and the budget on the other."},
		{Seam: pipeline.Stream, Say: "The watches end. Each new watch breaks after 300 bytes, in the middle of a frame. " +
			"You scale the Deployment to 4.",
			Ask:     "Does the Reflector receive an event of the half frame?",
			Options: []string{"Yes, with the fields that arrived", "No"}, Right: 1,
			Do: []order{do("cut frame", "", 0), do("scale", "web", 4)}, Until: cached("default/web", "replicas 4"),
			Answer: "A frame counts when its last byte is there. The next watch starts at the last version, and brings the " +
				"event again."},
		{Seam: pipeline.Event, Say: "The watches end without an error, as after a timeout.",
			Ask:     "Does the Reflector list again?",
			Options: []string{"Yes", "No: it watches from its last version"}, Right: 1,
			Do: []order{do("end watch", "", 0), do("scale", "web", 2)}, Until: cached("default/web", "replicas 2"),
			Answer: "The end of a stream is no loss. The Reflector knows its version, and the API server sends all later " +
				"changes."},
		{Seam: pipeline.Stream, Say: "Many changes come at once: 1,000. The counters show how many bytes and frames each " +
			"watch has brought.", Do: []order{do("burst", "", 1000)},
			Until: func(s *pipeline.State) bool {
				return cached("default/burst-99", "replicas 1")(s) && len(s.Queue.Queue)+len(s.Queue.Processing) == 0
			}},
	}},
	{"03", "A relist after 410", []stop{
		beginning,
		{Seam: pipeline.Reflector, Say: "You create a Deployment. The Reflector's version follows each event.",
			Do: []order{do("create", "web", 3)}, Until: budgeted("default/web", "minAvailable 2")},
		{Seam: pipeline.Reflector, Say: "The watches end, and you scale the Deployment to 4 at once.",
			Ask:     "Where does the next watch start?",
			Options: []string{"At version 0", "At the Reflector's version", "At the server's newest version"}, Right: 1,
			Do: []order{do("end watch", "", 0), do("scale", "web", 4)}, Until: cached("default/web", "replicas 4"),
			Answer: "At its own version. At the newest one it would miss the change in between."},
		{Seam: pipeline.Reflector, Say: "The watch ends again, and the server has forgotten the history: it answers 410 " +
			"Gone, Expired.",
			Ask:     "What does the Reflector do?",
			Options: []string{"It watches from the newest version", "It lists again"}, Right: 1,
			Do:    []order{do("refuse", "", 410), do("compact", "", 0)},
			Until: func(s *pipeline.State) bool { return watching(s) && relisted(s) },
			Answer: "Changes may be lost, so it asks for all objects again. It waits for the back-off first, which you see " +
				"as its phase."},
		{Seam: pipeline.Delta, Say: "The list went into the queue by Replace. An object that the list lacks becomes a " +
			"deletion. Here all objects are still there, so the deltas are of type Replaced.", Until: watching},
	}},
	{"04", "Deltas that wait", []stop{
		beginning,
		{Seam: pipeline.Delta,
			Say: "The consumer of the queue is held before its next Pop. You create two Deployments; the " +
				"first one still reaches the Indexer, since a Pop was under way.",
			Do:    []order{do("hold consumer", "", 0), do("create", "web", 3), do("create", "db", 2)},
			Until: func(s *pipeline.State) bool { return len(deployments(s).FIFO.Deltas["default/db"]) == 1 }},
		{Seam: pipeline.Delta, Say: "Now you scale db twice.",
			Ask:     "What does the queue have for db?",
			Options: []string{"The newest state only", "Added, Updated, Updated, under one key", "Three entries in the queue"},
			Right:   1,
			Do:      []order{do("scale", "db", 3), do("scale", "db", 4)},
			Until:   func(s *pipeline.State) bool { return len(deployments(s).FIFO.Deltas["default/db"]) == 3 },
			Answer:  "A key is in the queue once, with all changes since it was last popped."},
		{Seam: pipeline.Delta, Say: "You delete db, which the Indexer does not know yet.",
			Ask:     "What comes out of the next Pop?",
			Options: []string{"Nothing: the object is gone", "Added, Updated, Updated, Deleted"}, Right: 1,
			Do:     []order{do("delete", "db", 0)},
			Until:  func(s *pipeline.State) bool { return len(deployments(s).FIFO.Deltas["default/db"]) == 4 },
			Answer: "The consumer receives the whole story, in order, in one Pop. It may end at once, but no change is hidden."},
		{Seam: pipeline.Store, Say: "The consumer goes on.", Do: []order{do("free consumer", "", 0)},
			Until: func(s *pipeline.State) bool { return len(deployments(s).FIFO.Keys) == 0 }},
		{Seam: pipeline.Delta,
			Say:     "The server stops; web is deleted meanwhile; the history is compacted; the server starts.",
			Ask:     "How does the queue learn of the deletion?",
			Options: []string{"By a DELETED event", "By comparing the list with the Indexer"}, Right: 1,
			Do: []order{do("down", "", 0), do("delete", "web", 0), do("compact", "", 0), do("up", "", 0)},
			Until: func(s *pipeline.State) bool {
				return watching(s) && len(deployments(s).Store.Objects) == 0
			},
			Answer: "No event came. Replace finds that web is known and not in the list, and adds a tombstone."},
	}},
	{"05", "The Indexer and its tables", []stop{
		beginning,
		{Seam: pipeline.Store,
			Say: "You create a Deployment. The Indexer has it by its key, and the index namespace has the " +
				"key under default.", Do: []order{do("create", "web", 3)}, Until: budgeted("default/web", "minAvailable 2")},
		{Seam: pipeline.Store, Say: "Handlers are held from now on. You scale the Deployment to 4.",
			Ask:     "Which version does the Indexer have while the handler waits?",
			Options: []string{"The old one, until the handler returns", "The new one"}, Right: 1,
			Do:     []order{{Action: "break", Name: "handler", On: true}, do("scale", "web", 4)},
			Until:  cached("default/web", "replicas 4"),
			Answer: "The store changes first. A handler that reads the Indexer finds the change that it is called for."},
		{Seam: pipeline.Handler, Say: "The handlers go on.", Do: []order{{Action: "break", Name: "handler"}},
			Until: budgeted("default/web", "minAvailable 3")},
		{Seam: pipeline.Store, Say: "The budgets have a second index: budgets that other programs made.",
			Ask:     "You edit the budget. Does it move into that index?",
			Options: []string{"Yes, because you have changed it", "No: its label and owner are still the controller's"},
			Right:   1,
			Do:      []order{do("edit budget", "web", 0)}, Until: budgeted("default/web", "minAvailable 3"),
			Answer: "An index function looks at the object alone. And the controller has repaired the budget already."},
		{Seam: pipeline.Store,
			Say: "You delete the Deployment. Its key leaves the objects and every table, and a value without " +
				"keys disappears.", Do: []order{do("delete", "web", 0)},
			Until: func(s *pipeline.State) bool { return len(deployments(s).Store.Objects) == 0 }},
	}},
	{"06", "A key that fails three times", []stop{
		beginning,
		{Seam: pipeline.Worker,
			Say: "Each worker stops when it has its next key. You create a Deployment, and a worker takes " +
				"its key.", Do: []order{do("hold workers", "", 0), do("create", "web", 2)},
			Until: func(s *pipeline.State) bool { _, has := s.Queue.Processing["default/web"]; return has }},
		{Seam: pipeline.Queue, Say: "While the worker has the key, you scale the Deployment three times.",
			Ask:     "How often is default/web in the queue now?",
			Options: []string{"Three times", "Not once: it is dirty, and comes after Done"}, Right: 1,
			Do: []order{do("scale", "web", 3), do("scale", "web", 4), do("scale", "web", 5)},
			Until: func(s *pipeline.State) bool {
				return s.Queue.Again["default/web"] && cached("default/web", "replicas 5")(s)
			},
			Answer: "One worker at a time has a key. What is added meanwhile is kept once, in dirty."},
		{Seam: pipeline.Worker, Say: "The workers go on. The key comes once more, and finds nothing left to do.",
			Do: []order{do("free workers", "", 0)}, Until: budgeted("default/web", "minAvailable 4")},
		{Seam: pipeline.Queue, Say: "The next three writes fail. You scale the Deployment to 2.",
			Ask:     "When does the key come back?",
			Options: []string{"At once", "After a wait that doubles with each failure", "With the next event"}, Right: 1,
			Do: []order{do("fail writes", "", 0), do("scale", "web", 2)}, Until: waits,
			Answer: "AddRateLimited counts the failure and adds the key after the limiter's wait: 200 ms, 400 ms, 800 ms here."},
		{Seam: pipeline.Queue,
			Say: "After the third failure the write succeeds. Forget clears the failures, so the next one " +
				"waits for 200 ms again.", Until: func(s *pipeline.State) bool {
				return budgeted("default/web", "minAvailable 1")(s) && len(s.Queue.Failures) == 0
			}},
	}},
	{"07", "A handler that comes late", []stop{
		beginning,
		{Seam: pipeline.Handler, Say: "You create two Deployments.",
			Do: []order{do("create", "web", 3), do("create", "db", 2)}, Until: budgeted("default/db", "minAvailable 1")},
		{Seam: pipeline.Handler, Say: "A second handler joins the running informer. Each of its calls takes a second.",
			Ask:     "What does it receive?",
			Options: []string{"Nothing until the next change", "OnAdd for each object in the Indexer"}, Right: 1,
			Do: []order{do("slow handler", "", 0)},
			Until: func(s *pipeline.State) bool {
				h := deployments(s).Handlers["handler 2"]
				return h != nil && h.Calls > 0
			},
			Answer: "The informer makes up an OnAdd for each object, and adds every later change behind them."},
		{Seam: pipeline.Handler, Say: "You scale web three times while the slow handler works.",
			Ask:     "Does the controller wait for the slow handler?",
			Options: []string{"Yes: handlers are called in turn", "No: each handler has its own ring and goroutine"}, Right: 1,
			Do:     []order{do("scale", "web", 4), do("scale", "web", 5), do("scale", "web", 6)},
			Until:  budgeted("default/web", "minAvailable 5"),
			Answer: "The notifications of the slow handler wait in its ring. The budget is right long before it is done."},
		{Seam: pipeline.Handler, Say: "The slow handler works through its ring, in order.",
			Until: func(s *pipeline.State) bool {
				h := deployments(s).Handlers["handler 2"]
				return h != nil && len(h.Pending) == 0 && h.Current.Key == ""
			}},
		{Seam: pipeline.Handler, Say: "The second handler leaves. The others do not notice.",
			Do:    []order{do("drop handler", "", 0)},
			Until: func(s *pipeline.State) bool { return deployments(s).Handlers["handler 2"] == nil }},
	}},
}

// relisted reports whether a Reflector has received a second list.
func relisted(s *pipeline.State) bool {
	return deployments(s).Reflector.Lists > 1
}
