// Package sample is the code under test in the tests of package guard: a store and a queue that go wrong on demand.
package sample

import (
	"errors"
	"sync"
	"time"

	"client-go-workshop/internal/todo"
)

// Store has a method for each way to end badly.
type Store struct {
	lock  sync.RWMutex
	items map[string]string
	other sync.Mutex
}

func New() *Store { return &Store{items: map[string]string{}} }

func (s *Store) Add(key, value string) { panic(todo.Task(1, "Store.Add")) }
func (s *Store) Index(key string)      { panic(todo.Task(2, "Store.Index")) }

// Start runs a hole on a goroutine that nobody guards.
func (s *Store) Start() {
	go s.Index("background")
}

func (s *Store) Set(key, value string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items[key] = value
}

func (s *Store) Keys() []string {
	var keys []string
	for key := range s.items {
		keys = append(keys, key)
	}
	return keys
}

func (s *Store) SetNil(key, value string) {
	s.items = nil
	s.put(key, value)
}

func (s *Store) put(key, value string) { s.items[key] = value }

var ErrGone = errors.New("gone")

// SetTwice takes its lock twice.
func (s *Store) SetTwice(key, value string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Set(key, value)
}

// Forget returns without unlocking.
func (s *Store) Forget() { s.lock.Lock() }

// Crossed and its counterpart take two locks in opposite order.
func (s *Store) Crossed(met *sync.WaitGroup) {
	s.lock.Lock()
	met.Done()
	met.Wait()
	s.other.Lock()
}

func (s *Store) CrossedBack(met *sync.WaitGroup) {
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

// Spin never ends.
func (s *Store) Spin() {
	for n := 0; ; n++ {
		s.items["spin"] = "x"
	}
}

// Busy works for the given real time and is no deadlock: it hands a lock to and fro.
func (s *Store) Busy(rounds int) {
	for range rounds {
		s.Set("a", "b")
	}
}
