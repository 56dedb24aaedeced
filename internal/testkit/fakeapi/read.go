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
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *call) get() error {
	obj, err := c.store.get(c.res, c.key())
	if err != nil {
		return err
	}
	if c.subresource == "scale" {
		return c.answer(http.StatusOK, scaleOf(obj))
	}
	return c.answer(http.StatusOK, obj)
}

// selection selects objects of a resource.
type selection struct {
	namespace string // empty for all
	labels    labels.Selector
	fields    fields.Selector
}

// all reports whether there is no selector.
func (s selection) all() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) has(res *resource, obj Object) bool {
	if obj == nil || s.namespace != "" && obj.GetNamespace() != s.namespace {
		return false
	}
	return s.labels.Matches(labels.Set(obj.GetLabels())) && (s.fields.Empty() || s.fields.Matches(res.fields(obj)))
}

// options reads the query of a list or watch.
func (c *call) options() (options metav1.ListOptions, selected selection, err error) {
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&c.query, &options, nil); err != nil {
		return options, selected, apierrors.NewBadRequest(err.Error())
	}
	selected = selection{c.namespace, labels.Everything(), fields.Everything()}
	if selected.labels, err = labels.Parse(options.LabelSelector); err != nil {
		return options, selected, apierrors.NewBadRequest(err.Error())
	}
	if selected.fields, err = fields.ParseSelector(options.FieldSelector); err != nil {
		return options, selected, apierrors.NewBadRequest(err.Error())
	}
	if err := c.checkFields(selected); err != nil {
		return options, selected, err
	}
	return options, selected, c.check(options)
}

// checkFields refuses field selectors with unknown fields.
func (c *call) checkFields(selected selection) error {
	known := c.res.fields(c.res.new())
	for _, term := range selected.fields.Requirements() {
		if known.Has(term.Field) {
			continue
		}
		message := fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", term.Field)
		if c.res.selectable != nil {
			message = "field label not supported: " + term.Field
		}
		return apierrors.NewBadRequest(message)
	}
	return nil
}

// check refuses options that contradict each other.
func (c *call) check(options metav1.ListOptions) error {
	errs := validation.ValidateListOptions(&internalversion.ListOptions{
		Watch: c.verb == "watch", Continue: options.Continue, SendInitialEvents: options.SendInitialEvents,
		ResourceVersion: options.ResourceVersion, ResourceVersionMatch: options.ResourceVersionMatch,
	}, true)
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return nil
}

func (c *call) list() error {
	options, selected, err := c.options()
	if err != nil {
		return err
	}
	at, after, err := c.moment(options)
	if err != nil {
		return err
	}
	objs, at, err := c.store.list(c.res, at)
	if err != nil {
		if options.Continue != "" {
			return c.expiredToken(after)
		}
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	limit := options.Limit
	if options.ResourceVersion == "0" && options.Continue == "" {
		limit = 0 // the watch cache ignores limits
	}
	return c.answer(http.StatusOK, page(c.res, objs, at, after, limit, selected))
}

// moment returns the revision of the list, and the key after which it starts.
func (c *call) moment(options metav1.ListOptions) (revision int64, after string, err error) {
	if options.Continue != "" {
		token, err := parseToken(options.Continue)
		if err != nil {
			return 0, "", err
		}
		if options.ResourceVersion != "" && options.ResourceVersion != "0" {
			return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		return token.Revision, token.After, nil
	}
	wanted, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return 0, "", apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if wanted == 0 {
		return latest, "", nil
	}
	if err := c.reach(wanted); err != nil {
		return 0, "", err
	}
	match := options.ResourceVersionMatch
	if match == metav1.ResourceVersionMatchExact || match == "" && options.Limit > 0 {
		return wanted, "", nil
	}
	return latest, "", nil
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
			return tooLarge(wanted, current)
		}
	}
}

func tooLarge(wanted, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	cause := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}
	err.ErrStatus.Details.Causes = []metav1.StatusCause{cause}
	return err
}

// page returns the selected objects after a key, at most limit of them if limit is positive.
func page(res *resource, objs []Object, revision int64, after string, limit int64, selected selection) runtime.Object {
	chosen := []runtime.Object{}
	for _, obj := range objs {
		if (after == "" || key(obj) > after) && selected.has(res, obj) {
			chosen = append(chosen, obj)
		}
	}
	left := int64(len(chosen)) - limit
	if limit <= 0 || left <= 0 {
		return res.listOf(chosen, revision)
	}
	list := res.listOf(chosen[:limit], revision)
	meta := list.(metav1.ListMetaAccessor).GetListMeta()
	meta.SetContinue(token{revision, key(chosen[limit-1].(Object))}.String())
	if selected.all() {
		meta.SetRemainingItemCount(&left)
	}
	return list
}

// token is the continue token of a page that is not the last. Clients must not interpret it.
type token struct {
	Revision int64  `json:"rv"`
	After    string `json:"start"`
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

// expiredToken refuses the next page, because the version of the pages before is forgotten. It has a token for clients
// that prefer to continue with pages of the newest version.
func (c *call) expiredToken(after string) error {
	current, _ := c.store.current()
	expired := apierrors.NewResourceExpired(messageExpiredToken)
	expired.ErrStatus.ListMeta.Continue = token{current, after}.String()
	return expired
}

const messageExpiredToken = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, " +
	"or use the continue token in this response to retrieve the remainder of the results. " +
	"Continuing with the provided token results in an inconsistent list - " +
	"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
