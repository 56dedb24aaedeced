package fastjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// loose is a kind of a custom resource with fields that the built-in kinds do not have.
type loose struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Any               any               `json:"any"`
	Map               map[string]any    `json:"map"`
	Bytes             []byte            `json:"bytes"`
	Four              [4]int8           `json:"four"`
	Text              int               `json:"text,string"`
	Pointer           **loose           `json:"pointer"`
	Times             map[string]stamps `json:"times"`
}

type stamps struct {
	At    metav1.Time      `json:"at"`
	Micro metav1.MicroTime `json:"micro"`
	Since *metav1.Duration `json:"since"`
}

func (l *loose) DeepCopyObject() runtime.Object { panic("never copied") }

// oddList has a slice with the name of a list's, and another name in JSON.
type oddList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []appsv1.Deployment `json:"entries"`
}

func (l *oddList) DeepCopyObject() runtime.Object { panic("never copied") }

func decoders(t testing.TB) (general runtime.Decoder, fast *Decoder) {
	scheme := runtime.NewScheme()
	require.NoError(t, appsv1.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Loose"}, &loose{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "OddList"}, &oddList{})
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	general = codecs.DecoderToVersion(info.Serializer, appsv1.SchemeGroupVersion)
	fast = NewDecoder(general)
	require.True(t, fast.Fast())
	return general, fast
}

// members are added to an object of the kind Loose. Each is decoded by both, alone and twice.
var members = []string{
	`"any":1`, `"any":1.0`, `"any":1e3`, `"any":9007199254740993`, `"any":-0`, `"any":18446744073709551615`, `"any":null`,
	`"any":{"a":[1,2.5,"x",true,null,{"A":1,"a":2}]}`, `"any":"\ud800"`, "\"any\":\"\xff\"", "\"any\":\"a\tb\"", `"any":01`, `"any":.5`,
	`"map":{"a":1,"a":2,"b":{"c":3}}`, `"map":null`, `"map":[]`, `"MAP":{"a":1}`, `"Any":1`, `"any ":1`,
	`"bytes":"aGk="`, `"bytes":"aGk"`, `"bytes":"aG\nk="`, `"bytes":[1,2]`, `"bytes":null`, `"bytes":""`,
	`"four":[1,2]`, `"four":[1,2,3,4,5]`, `"four":[300]`, `"four":[1.0]`, `"four":[1e1]`, `"four":[-0]`, `"four":null`,
	`"text":"7"`, `"text":7`, `"text":"x"`, `"text":null`, `"text":"null"`, `"pointer":{"any":1}`, `"pointer":null`,
	`"times":{"a":{"at":"2026-01-02T03:04:05Z"}}`, `"times":{"a":{"at":"2026-01-02T03:04:05.5+02:00"}}`, `"times":{"a":{"at":null}}`,
	`"times":{"a":{"at":""}}`, `"times":{"a":{"at":"2026-01-02T3:04:05Z"}}`, `"times":{"a":{"at":"2026-01-02T03:04:05,5Z"}}`,
	`"times":{"a":{"at":"\u0032026-01-02T03:04:05Z"}}`, `"times":{"a":{"at":5}}`, `"times":{"a":{"at":{}}}`, `"times":{"a":{"at":"2026"}}`,
	`"times":{"a":{"micro":"2026-01-02T03:04:05.000001Z","since":"5s"}}`, `"times":{"a":{"since":5}}`,
	`"metadata":{"name":"a","creationTimestamp":null,"labels":{"a":"b"}}`, `"metadata":{"labels":{"a":"b"}},"metadata":{"labels":{"c":"d"}}`,
	`"metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]}`, `"metadata":{"name":7}`, `"metadata":[]`, `"metadata":null`,
	`"metadata":{"finalizers":["a","b"]},"metadata":{"finalizers":["c"]}`, `"unknown":{"deep":[[[{}]]]}`, `"unknown":tru`, `"unknown":[1 2]`, `"":0`,
}

func TestDecode_is_equal_to_the_serializer(t *testing.T) {
	general, fast := decoders(t)
	var bodies []string
	for i, a := range members {
		bodies = append(bodies, `{"kind":"Loose","apiVersion":"x/v1",`+a+`}`, `{`+a+`,"kind":"Loose","apiVersion":"x/v1",`+a+"}\n ")
		bodies = append(bodies, `{"kind":"Loose","apiVersion":"x/v1",`+a+`,`+members[(i+7)%len(members)]+`}`)
	}
	for _, items := range []string{
		`[]`, `null`, `{}`, `[null]`, `[{},null,{"metadata":{"name":"c"}}]`, `[{}]]`, `[1]`, `["a"]`, `[{"spec":{"replicas":"1"}}]`, `[{"spec":1},`,
		`[{}}`, `[{]}`, `[{} {}]`, `[{"metadata":{"name":"a"}}` + strings.Repeat(`,{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"}}`, 500) + `]`,
		`[{}` + strings.Repeat(`,{}`, 400) + `,{"spec":1}]`,
	} {
		for _, kind := range []string{`"DeploymentList","apiVersion":"apps/v1"`, `"Deployment","apiVersion":"apps/v1"`, `"OddList","apiVersion":"x/v1"`} {
			bodies = append(bodies, `{"kind":`+kind+`,"metadata":{"resourceVersion":"7"},"items":`+items+`}`,
				`{"items":`+items+`,"entries":[{}],"kind":`+kind+`,"metadata":{"resourceVersion":"7"}}`,
				`{"kind":`+kind+`,"items":`+items+`,"items":[{}]}`, `{"kind":`+kind+`,"items":`+items+`,"Items":[{}]}`)
		}
	}
	slow := 0
	for _, body := range bodies {
		for range 2 { // the second time, the type is known
			want, _, wantErr := general.Decode([]byte(body), nil, nil)
			got, gotErr := fast.Decode([]byte(body), nil)
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), body)
			require.Equal(t, want, got, body)
			if wantErr == nil && fast.decode([]byte(body), nil) == nil {
				slow++
			}
		}
	}
	require.Less(t, slow, len(bodies)/4, "bodies without an error that only the serializer decodes")
}
