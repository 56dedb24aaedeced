package pipeline

// This file is the state of the handlers of an informer: their rings of pending notifications, and their calls.

import (
	"fmt"
	"maps"
	"slices"
)

func (i *Informer) applyHandler(step *Step) {
	h := i.Handlers[step.By]
	if h == nil {
		h = &HandlerState{}
		i.Handlers[step.By] = h
	}
	switch step.Verb {
	case Joined:
		for _, key := range slices.Sorted(maps.Keys(i.Store.Objects)) {
			h.Pending = append(h.Pending, Ref{OnAdd, key, i.Store.Objects[key].Version})
		}
	case Left:
		delete(i.Handlers, step.By)
	case OnAdd, OnUpdate, OnDelete:
		h.call(step)
		if i.Closed {
			h.Differs = ""
			if step.By == "handler 1" { // a later one may be slow
				i.follow(step)
			}
		}
	case Returned:
		if h.Current.Key != "" {
			h.Took.add(step.At - h.Since)
		}
		h.Current = Ref{}
	}
}

// follow moves the objects of an Indexer that cannot be seen.
func (i *Informer) follow(step *Step) {
	if step.Verb == OnDelete {
		i.Store.head.remove(i.Store.Objects, step.Key)
	} else {
		i.Store.head.put(i.Store.Objects, step.Key, Object{i.Kind, step.Key, step.Version, step.Text})
	}
	i.Reflector.Version = step.Version
}

// call removes the notification of a call from the ring. A call without a notification is a resync if it is an update.
func (h *HandlerState) call(step *Step) {
	h.Current, h.Since, h.Differs = Ref{step.Verb, step.Key, step.Version}, step.At, ""
	h.Calls++
	at := slices.IndexFunc(h.Pending, func(n Ref) bool {
		return n.Type == step.Verb && n.Key == step.Key && (n.Version == step.Version || step.Verb == OnDelete)
	})
	if at < 0 {
		if step.Verb != OnUpdate {
			h.Differs = fmt.Sprintf("%s for %s, and no change is pending for it", step.Verb, step.Key)
		}
		return
	}
	late := slices.ContainsFunc(h.Pending[:at], func(n Ref) bool { return n.Key == step.Key })
	h.Pending = remove(h.Pending, at)
	if late {
		h.Differs = fmt.Sprintf("an earlier change of %s was not delivered", step.Key)
		rest := slices.Clone(h.Pending[at:])
		h.Pending = append(slices.DeleteFunc(h.Pending[:at], func(n Ref) bool { return n.Key == step.Key }), rest...)
	}
}
