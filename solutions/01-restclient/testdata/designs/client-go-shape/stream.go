package restclient

import (
	"context"
	"io"
	"net/http"

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
	retry := &retry{request: r, harmless: func(error) bool { return false }}
	for {
		resp, err := retry.try(ctx)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return resp.Body, nil
		}
		if !retry.again(resp, nil) {
			defer release(resp)
			return nil, r.read(resp).Error()
		}
		release(resp)
	}
}

func (r *Request) Watch(ctx context.Context) (watch.Interface, error) {
	if r.err != nil {
		return nil, r.err
	}
	retry := &retry{request: r, harmless: func(err error) bool {
		return ctx.Err() == nil && (utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err))
	}}
	for {
		resp, err := retry.try(ctx)
		if err == nil && resp.StatusCode == http.StatusOK {
			return r.client.newWatcher(resp.Body, resp.Header.Get("Content-Type"), r.verb)
		}
		if retry.again(resp, err) {
			release(resp)
			continue
		}
		if err != nil {
			if retry.harmless(err) {
				return watch.NewEmptyWatch(), nil
			}
			return nil, retry.explain(err)
		}
		defer release(resp)
		if err = r.read(resp).Error(); err == nil {
			err = r.generic(resp, nil)
		}
		return nil, retry.explain(err)
	}
}
