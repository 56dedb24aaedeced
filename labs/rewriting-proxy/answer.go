package rewritingproxy

// This file rewrites an answer with one body: an object, a list, or a Table, which kubectl get prints.
