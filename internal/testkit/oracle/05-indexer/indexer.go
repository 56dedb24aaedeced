// Package indexer puts client-go behind the names of chapter 05, so that the chapter's tests run over the real thing.
// It only names things. If client-go fails a test, the test is wrong.
package indexer

import "k8s.io/client-go/tools/cache"

var (
	MetaNamespaceKeyFunc   = cache.MetaNamespaceKeyFunc
	MetaNamespaceIndexFunc = cache.MetaNamespaceIndexFunc
)

func NewThreadSafeStore(indexers cache.Indexers, indices cache.Indices) cache.ThreadSafeStore {
	return cache.NewThreadSafeStore(indexers, indices)
}

func NewStore(keyFunc cache.KeyFunc) cache.Store { return cache.NewStore(keyFunc) }

func NewIndexer(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
	return cache.NewIndexer(keyFunc, indexers)
}
