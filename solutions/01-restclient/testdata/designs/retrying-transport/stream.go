package restclient

import (
	"context"
	"io"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

func (r *Request) Stream(ctx context.Context) (io.ReadCloser, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.throttle(ctx); err != nil {
		return nil, err
	}
	out := r.open(ctx, func(error) bool { return false })
	if out.err != nil {
		return nil, out.err
	}
	if out.resp.StatusCode/100 == 2 {
		return out.resp.Body, nil
	}
	defer drain(out.resp)
	return nil, r.read(out.resp).Error()
}

func (r *Request) Watch(ctx context.Context) (watch.Interface, error) {
	if r.err != nil {
		return nil, r.err
	}
	ended := func(err error) bool {
		return (utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)) && ctx.Err() == nil
	}
	out := r.open(ctx, ended)
	switch {
	case out.err != nil && ended(out.err):
		return watch.NewEmptyWatch(), nil
	case out.err != nil:
		return nil, out.explain(out.err)
	case out.resp.StatusCode == 200:
		return r.client.newWatcher(out.resp.Body, out.resp.Header.Get("Content-Type"), r.verb)
	}
	defer drain(out.resp)
	err := r.read(out.resp).Error()
	if err == nil {
		err = r.generic(out.resp, nil)
	}
	return nil, out.explain(err)
}
