package fakeapi

// This file has get and list. A list shows one revision, which resourceVersion and resourceVersionMatch choose, or the
// continue token of the page before.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *call) get() (runtime.Object, error) {
	obj, err := c.store.get(c.res, c.key())
	if err == nil && c.subresource == "scale" {
		return scaleOf(obj), nil
	}
	return obj, err
}

// selection selects objects of a resource.
type selection struct {
	namespace string // empty for all
	labels    labels.Selector
	fields    fields.Selector
}

func (s selection) has(res *resource, obj Object) bool {
	if obj == nil || s.namespace != "" && obj.GetNamespace() != s.namespace {
		return false
	}
	return s.labels.Matches(labels.Set(obj.GetLabels())) && (s.fields.Empty() || s.fields.Matches(res.fields(obj)))
}

// options reads the query of a list or watch, and refuses options that contradict each other.
func (c *call) options() (options metav1.ListOptions, selected selection, err error) {
	selected.namespace = c.namespace
	err = metav1.Convert_url_Values_To_v1_ListOptions(&c.query, &options, nil)
	if err == nil {
		selected.labels, err = labels.Parse(options.LabelSelector)
	}
	if err == nil {
		selected.fields, err = fields.ParseSelector(options.FieldSelector)
	}
	if err == nil {
		err = c.res.checkFields(selected.fields)
	}
	if err != nil {
		return options, selected, apierrors.NewBadRequest(err.Error())
	}
	errs := validation.ValidateListOptions(&internalversion.ListOptions{
		Watch: c.verb == "watch", Continue: options.Continue, SendInitialEvents: options.SendInitialEvents,
		ResourceVersion: options.ResourceVersion, ResourceVersionMatch: options.ResourceVersionMatch,
	}, true)
	if len(errs) > 0 {
		err = apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return options, selected, err
}

// checkFields refuses field selectors with unknown fields.
func (r *resource) checkFields(selector fields.Selector) error {
	known := r.fields(r.new())
	for _, term := range selector.Requirements() {
		switch {
		case known.Has(term.Field):
		case r.selectable != nil:
			return fmt.Errorf("field label not supported: %s", term.Field)
		default:
			return fmt.Errorf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", term.Field)
		}
	}
	return nil
}

func (c *call) list() (runtime.Object, error) {
	options, selected, err := c.options()
	if err != nil {
		return nil, err
	}
	from, err := c.from(options)
	if err != nil {
		return nil, err
	}
	objs, revision, err := c.store.list(c.res, from.Revision)
	if err != nil {
		refusal := statusFor(http.StatusGone, "")
		if options.Continue != "" {
			// For clients that prefer to continue with pages of the newest version.
			refusal.ErrStatus.Message = messageExpiredToken
			current, _ := c.store.current()
			refusal.ErrStatus.ListMeta.Continue = token{current, from.After}.String()
		}
		return nil, refusal
	}
	limit := options.Limit
	if options.ResourceVersion == "0" && options.Continue == "" {
		limit = 0 // the watch cache ignores limits
	}
	return c.page(objs, token{revision, from.After}, limit, selected)
}

// from returns the revision of the list, and the key after which it starts.
func (c *call) from(options metav1.ListOptions) (token, error) {
	if options.Continue != "" {
		from, err := parseToken(options.Continue)
		if err == nil && options.ResourceVersion != "" && options.ResourceVersion != "0" {
			err = apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		return from, err
	}
	wanted, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return token{}, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if wanted == 0 {
		return token{Revision: latest}, nil
	}
	match := options.ResourceVersionMatch
	if match == metav1.ResourceVersionMatchExact || match == "" && options.Limit > 0 {
		return token{Revision: wanted}, c.reach(wanted)
	}
	return token{Revision: latest}, c.reach(wanted)
}

// parseVersion reads a resourceVersion. An empty one is 0.
func parseVersion(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), text, err.Error())
	}
	return int64(min(v, math.MaxInt64)), nil
}

// patience is how long the server waits for a version that it does not have yet. Another API server may have it.
const patience = 3 * time.Second

// reach waits until the store has a version.
func (c *call) reach(wanted int64) error {
	end := time.After(patience)
	for {
		current, changed := c.store.current()
		if current >= wanted {
			return nil
		}
		select {
		case <-changed:
		case <-c.r.Context().Done():
			return c.r.Context().Err()
		case <-end:
			err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
			cause := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}
			err.ErrStatus.Details.Causes = []metav1.StatusCause{cause}
			return err
		}
	}
}

// page returns the selected objects after a key, at most limit of them if limit is positive.
func (c *call) page(objs []Object, from token, limit int64, selected selection) (runtime.Object, error) {
	chosen := []runtime.Object{}
	for _, obj := range objs {
		if (from.After == "" || key(obj) > from.After) && selected.has(c.res, obj) {
			chosen = append(chosen, obj)
		}
	}
	left := int64(len(chosen)) - limit
	whole := limit <= 0 || left <= 0
	if !whole {
		chosen = chosen[:limit]
	}
	if err := c.admit(chosen); err != nil {
		return nil, err
	}
	list := c.res.listOf(chosen, from.Revision)
	if whole {
		return list, nil
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("make a page of %s: %w", c.res.gvr.Resource, err)
	}
	accessor.SetContinue(token{from.Revision, key(chosen[limit-1].(Object))}.String())
	if selected.labels.Empty() && selected.fields.Empty() {
		accessor.SetRemainingItemCount(&left)
	}
	return list, nil
}

// token says where a page of a list starts. As text it is the continue token, which clients must not interpret.
type token struct {
	Revision int64  `json:"rv"`
	After    string `json:"start"` // a key, empty for the first page
}

func (t token) String() string {
	text, _ := json.Marshal(t)
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseToken(text string) (t token, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	}
	return t, nil
}

// messageExpiredToken refuses the next page, because the version of the pages before is forgotten.
const messageExpiredToken = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, " +
	"or use the continue token in this response to retrieve the remainder of the results. " +
	"Continuing with the provided token results in an inconsistent list - " +
	"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up " +
	"in the list."
