// Package sample is the code under test in the tests of package guard: a store and a queue that go wrong on demand, each
// method in a way of its own.
package sample

import (
	"sync"
	"time"

	"client-go-workshop/internal/testkit/todo"
)

type Store struct {
	lock  sync.RWMutex
	other sync.Mutex
	items map[string]string
	spins int

	signals chan struct{}
}

func New() *Store { return &Store{items: map[string]string{}, signals: make(chan struct{})} }

func (s *Store) Add(key, value string) { panic(todo.Task(1, "Store.Add")) }

func (s *Store) Index(key string) string { panic(todo.Task(2, "Store.Index")) }

// IndexLater reaches a todo on a goroutine that nobody guards.
func (s *Store) IndexLater() { go s.Index("later") }

// IndexLocked leaves its lock locked when it reaches the todo.
func (s *Store) IndexLocked() {
	s.lock.Lock()
	s.Index("locked")
	s.lock.Unlock()
}

func (s *Store) Set(key, value string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items[key] = value
}

func (s *Store) Get(key string) string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.items[key]
}

// Keys does not lock.
func (s *Store) Keys() (keys []string) {
	for key := range s.items {
		keys = append(keys, key)
	}
	return keys
}

// SetNil panics with a runtime error, two calls deep.
func (s *Store) SetNil(key, value string) {
	s.items = nil
	s.put(key, value)
}

func (s *Store) put(key, value string) { s.items[key] = value }

// SetTwice takes its lock twice.
func (s *Store) SetTwice(key, value string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Set(key, value)
}

// Forget returns without unlocking.
func (s *Store) Forget() { s.lock.Lock() }

// Forward and Backward take two locks, in opposite order.
func (s *Store) Forward(met *sync.WaitGroup) {
	s.lock.Lock()
	met.Done()
	met.Wait()
	s.other.Lock()
}

func (s *Store) Backward(met *sync.WaitGroup) {
	s.other.Lock()
	met.Done()
	met.Wait()
	s.lock.Lock()
}

// SleepLocked holds its lock while it sleeps.
func (s *Store) SleepLocked() {
	s.lock.Lock()
	defer s.lock.Unlock()
	time.Sleep(time.Second)
}

// SendLocked holds its lock while it sends to a channel that nobody receives from.
func (s *Store) SendLocked() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.send()
}

func (s *Store) send() { s.signals <- struct{}{} }

// GetLater locks, unlocks, calls f, and gets.
func (s *Store) GetLater(key string, f func()) string {
	s.lock.Lock()
	if s.items == nil {
		s.lock.Unlock()
		return ""
	}
	s.lock.Unlock()
	f()
	return s.Get(key)
}

// With calls f under the lock.
func (s *Store) With(f func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	f()
}

// Apply calls f, under the lock or without it.
func (s *Store) Apply(unlocked bool, f func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if unlocked {
		s.lock.Unlock()
		defer s.lock.Lock()
	}
	f()
}

// Spin never ends.
func (s *Store) Spin() {
	for {
		s.spins++
	}
}

// Unlock unlocks what is not locked, which is fatal.
func (s *Store) Unlock() { s.other.Unlock() }

// Hoard keeps all that it makes.
func (s *Store) Hoard() {
	var all [][]byte
	for {
		all = append(all, make([]byte, 1<<20))
		for i := range all[len(all)-1] {
			all[len(all)-1][i] = 1
		}
	}
}

// Multiply starts goroutines without end.
func (s *Store) Multiply() {
	for {
		go func() { select {} }()
	}
}
