package fakeapi

// This file is the storage, in place of etcd and the watch cache of a real server. There is one counter for all
// resources. Every change adds one to it, and its new value is the resourceVersion of the changed object. The store
// keeps all changes since the last compaction, so a watch can start, and a list can be read, at any version since.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// latest stands for the newest revision.
const latest int64 = -1

// store holds objects. It never changes an object: a change stores another one.
type store struct {
	lock sync.Mutex
	// revision is that of the last change.
	revision int64
	// compacted is the revision of the last compaction; older ones are forgotten.
	compacted int64
	objects   map[*resource]map[string]Object
	// history holds the changes after compacted, in order.
	history []change
	// longest is how long the history may grow before its older half is forgotten; 0 is no limit.
	longest int
	// changed is closed at the next change, and replaced.
	changed chan struct{}
	// onChange, if it is not nil, is called for each change, with the lock held.
	onChange func(before, now Object, revision int64)
}

// change is the change of one revision. Before is nil for a creation, now is nil for a deletion.
type change struct {
	revision int64
	res      *resource
	key      string
	before   Object
	now      Object
}

func newStore() *store {
	s := &store{objects: map[*resource]map[string]Object{}, changed: make(chan struct{}), revision: 1}
	for _, res := range resources {
		s.objects[res] = map[string]Object{}
	}
	return s
}

// key returns the key of an object in the store. Keys sort in the order of a list.
func key(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }

// current returns the revision of the last change, and a channel that is closed at the next one.
func (s *store) current() (revision int64, changed <-chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.revision, s.changed
}

func (s *store) compact() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.compacted = s.revision
	s.history = nil
}

// record makes a change. The lock is held.
func (s *store) record(res *resource, k string, now Object) {
	s.revision++
	before := s.objects[res][k]
	if now == nil {
		delete(s.objects[res], k)
	} else {
		now.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		s.objects[res][k] = now
	}
	s.history = append(s.history, change{s.revision, res, k, before, now})
	if s.onChange != nil {
		s.onChange(before, now, s.revision)
	}
	if half := len(s.history) / 2; s.longest > 0 && len(s.history) > s.longest {
		s.compacted = s.history[half-1].revision
		s.history = slices.Clone(s.history[half:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) get(res *resource, k string) (Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.find(res, k)
}

func (s *store) find(res *resource, k string) (Object, error) {
	if obj := s.objects[res][k]; obj != nil {
		return obj, nil
	}
	_, name, _ := strings.Cut(k, "/")
	return nil, apierrors.NewNotFound(res.gvr.GroupResource(), name)
}

// list returns the objects of a resource at a revision, in order, and that revision. The slice belongs to the caller,
// the objects to the store. The error means that the revision is forgotten.
func (s *store) list(res *resource, revision int64) ([]Object, int64, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if revision == latest {
		revision = s.revision
	}
	if revision < s.compacted {
		return nil, 0, expired(revision, s.revision)
	}
	state := maps.Clone(s.objects[res])
	for _, c := range slices.Backward(s.history) {
		if c.revision <= revision {
			break
		}
		switch {
		case c.res != res:
		case c.before == nil:
			delete(state, c.key)
		default:
			state[c.key] = c.before
		}
	}
	objs := make([]Object, 0, len(state))
	for _, k := range slices.Sorted(maps.Keys(state)) {
		objs = append(objs, state[k])
	}
	return objs, revision, nil
}

// since returns the changes of a resource after a revision, the revision that they lead to, and a channel that is
// closed at the next change of any resource.
func (s *store) since(res *resource, revision int64) (changes []change, now int64, changed <-chan struct{}, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if revision < s.compacted {
		return nil, 0, nil, expired(revision, s.compacted)
	}
	first, _ := slices.BinarySearchFunc(s.history, revision+1, func(c change, r int64) int { return int(c.revision - r) })
	for _, c := range s.history[first:] {
		if c.res == res {
			changes = append(changes, c)
		}
	}
	return changes, max(revision, s.revision), s.changed, nil
}

func (s *store) create(res *resource, obj Object) (Object, error) {
	if err := res.prepareForCreate(obj); err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.objects[res] == nil { // a custom resource
		s.objects[res] = map[string]Object{}
	}
	if s.objects[res][key(obj)] != nil {
		return nil, apierrors.NewAlreadyExists(res.gvr.GroupResource(), obj.GetName())
	}
	s.record(res, key(obj), obj)
	return obj, nil
}

// update replaces the object that has the name of obj, or the given part of it.
func (s *store) update(res *resource, obj Object, part part) (Object, error) {
	return s.modify(res, key(obj), part, func(Object) (Object, error) { return obj.DeepCopyObject().(Object), nil })
}

// modify replaces an object, or the given part of it, by the result of a function, which gets a copy. It does nothing
// if nothing is different. It removes an object that is being deleted and has no finalizers left. The function runs
// without the lock, because a patch may take long. If the object has changed meanwhile, modify calls it again.
func (s *store) modify(res *resource, k string, part part, change func(obj Object) (Object, error)) (Object, error) {
	for {
		before, err := s.get(res, k)
		if err != nil {
			return nil, err
		}
		obj, err := change(before.DeepCopyObject().(Object))
		if err != nil {
			return nil, err
		}
		if err := checkVersion(res, obj, before); err != nil {
			return nil, err
		}
		if err := res.prepareForUpdate(obj, before, part); err != nil {
			return nil, err
		}
		obj.SetResourceVersion(before.GetResourceVersion())
		same := equality.Semantic.DeepEqual(obj, before)
		s.lock.Lock()
		if found, err := s.find(res, k); err != nil || found != before {
			s.lock.Unlock()
			continue
		}
		switch {
		case obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0:
			s.record(res, k, nil)
		case same:
			obj = before
		default:
			s.record(res, k, obj)
		}
		s.lock.Unlock()
		return obj, nil
	}
}

// checkVersion refuses an update that names another object of the same name, or another version of the object.
func checkVersion(res *resource, obj, before Object) error {
	conflict := func(err error) error { return apierrors.NewConflict(res.gvr.GroupResource(), obj.GetName(), err) }
	if uid := obj.GetUID(); uid != "" && uid != before.GetUID() {
		return conflict(fmt.Errorf(
			"StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
				"Precondition failed: UID in precondition: %v, UID in object meta: %v",
			res.gvr.Resource, key(obj), uid, before.GetUID()))
	}
	if _, err := strconv.ParseUint(cmp.Or(obj.GetResourceVersion(), "0"), 10, 64); err != nil {
		return internal(err.Error())
	}
	if v := obj.GetResourceVersion(); v != "" && v != before.GetResourceVersion() {
		return conflict(errModified)
	}
	return nil
}

// delete removes an object, or sets its deletionTimestamp if it has finalizers. It returns the last state of the
// object.
func (s *store) delete(res *resource, k string, options metav1.DeleteOptions) (Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	before, err := s.find(res, k)
	if err != nil {
		return nil, err
	}
	wanted := ptr.Deref(options.Preconditions, metav1.Preconditions{})
	if uid := before.GetUID(); ptr.Deref(wanted.UID, uid) != uid {
		return nil, refused(res, before, "UID", *wanted.UID, uid, "deleted and then recreated")
	}
	if v := before.GetResourceVersion(); ptr.Deref(wanted.ResourceVersion, v) != v {
		return nil, refused(res, before, "ResourceVersion", *wanted.ResourceVersion, v, "modified")
	}
	if len(before.GetFinalizers()) == 0 {
		s.record(res, k, nil)
		return before, nil
	}
	if before.GetDeletionTimestamp() != nil {
		return before, nil
	}
	obj := before.DeepCopyObject().(Object)
	deleted, grace := now(), int64(0)
	obj.SetDeletionTimestamp(&deleted)
	obj.SetDeletionGracePeriodSeconds(&grace)
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	s.record(res, k, obj)
	return obj, nil
}

// now returns the time in seconds, as it is stored.
func now() metav1.Time { return metav1.Time{Time: time.Now().Truncate(time.Second).UTC()} }

var errModified = errors.New("the object has been modified; " +
	"please apply your changes to the latest version and try again")

// refused returns the error for a deletion whose precondition does not hold.
func refused(res *resource, obj Object, what string, wanted, found any, perhaps string) error {
	return apierrors.NewConflict(schema.GroupResource{Group: res.gvk.Group, Resource: res.gvk.Kind}, obj.GetName(),
		fmt.Errorf("the %s in the precondition (%s) does not match the %s in record (%s). The object might have been %s",
			what, wanted, what, found, perhaps))
}

func expired(revision, oldest int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", revision, oldest))
}
