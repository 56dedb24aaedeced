package crd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/json"

	"client-go-workshop/internal/testkit/fakeapi/crd"
	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func TestParse_refuses_what_a_server_refuses_or_the_fake_does_not_know(t *testing.T) {
	for _, c := range []struct{ from, to, problem string }{
		{"apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", "and not an apiextensions.k8s.io/v1"},
		{"plural: bitcoinnetworks", "plural: networks", `must be spec.names.plural+"."+spec.group`},
		{"storage: true", "storage: false", "exactly one version marked as storage version"},
		{"scope: Namespaced", "scope: Cluster", "serves namespaced resources only"},
		{"scope: Namespaced", "scope: Namespaced\n  conversion: {strategy: Webhook}", "the fake does not convert"},
		{"scope: Namespaced", "scope: Namespaced\n  preserveUnknownFields: true",
			"preserveUnknownFields: Invalid value: true"},
		{"status: {}", "status: {}\n      scale: {specReplicasPath: .nodes, statusReplicasPath: .status.readyNodes}",
			"should be a json path under .spec"},
		{"status: {}", "status: {}\n      scale: {specReplicasPath: .spec.nodes}", "should be a json path under .status"},
		{"storage: true", "storage: true\n    deprecated: true", "sends no warning"},
		{"version: {type: string, ", "version: {", "properties[version].type: Required value"},
		{"{type: string, maxLength: 63}", "{type: string}\n              labels: {type: object}", "implicitly specified"},
		{"maxItems: 8", "maxItem: 8", `.maxItem"`},
		{"maxItems: 8", "maxItems: many", "read the schema"},
		{"default: regtest", "default: moon", `.properties[chain].default: Unsupported value: "moon"`},
		{"default: 3", "default: -3", ".properties[nodes].default: Invalid value: -3"},
		{"default: 3", "default: {a: 1}", ".properties[nodes].default: Invalid value"},
		{"{type: string, maxLength: 63}", "{type: string, pattern: '('}", "must be a valid regular expression"},
		{"version: {type: string, ", "version: {type: string, oneOf: [{type: string}], ",
			".oneOf[0].type: Forbidden: must be empty to be structural"},
		{"required: [spec]", "required: [spec]\n        not: {required: [a], properties: {a: {maxLength: 1}}}",
			"openAPIV3Schema.properties[a]: Required value: because it is defined in "},
		{"kind: BitcoinNetwork\n", "kind: BitcoinNetwork\n    kind: B\n", `key "kind" already set`},
	} {
		t.Run(c.to, func(t *testing.T) {
			manifest := strings.Replace(customresource.Manifest(), c.from, c.to, 1)
			require.NotEqual(t, customresource.Manifest(), manifest, "the manifest has %q", c.from)
			_, err := crd.Parse(manifest)
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestParse_accepts_fields_without_an_effect(t *testing.T) {
	for from, to := range map[string]string{
		"scope: Namespaced": "scope: Namespaced\n  conversion: {strategy: None}\n  preserveUnknownFields: false",
		"storage: true":     "storage: true\n    deprecated: false\n    selectableFields: [{jsonPath: .spec.chain}]",
		"default: 3":        "default: 3, example: 5",
		"status: {}": "status: {}\n      scale: {specReplicasPath: .spec.nodes, " +
			"statusReplicasPath: .status.readyNodes}",
		"\nspec:": "\nstatus: {storedVersions: [v1alpha1]}\nspec:",
	} {
		manifest := strings.Replace(customresource.Manifest(), from, to, 1)
		require.Contains(t, manifest, to, "the manifest")
		_, err := crd.Parse(manifest)
		require.NoError(t, err, "the error for %s", to)
	}
}

func TestParse_reads_names_and_columns(t *testing.T) {
	custom, err := crd.Parse(customresource.Manifest())
	require.NoError(t, err)
	require.Equal(t, "bitcoin.example.com/v1alpha1, Kind=BitcoinNetwork", custom.Kind.String())
	require.Equal(t, []string{"btc"}, custom.ShortNames)
	require.True(t, custom.Status)
	require.Len(t, custom.Columns, 5)
	cells := custom.Cells(map[string]any{
		"metadata": map[string]any{"name": "demo"}, "spec": map[string]any{"chain": "test", "nodes": int64(2)},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Registered", "status": "False"},
		}},
	})
	require.Equal(t, []any{"demo", "test", int64(2), "True", nil}, cells)
}

func TestPrune_reaches_lists_and_maps(t *testing.T) {
	custom, err := crd.Parse(customresource.Manifest())
	require.NoError(t, err)
	object := map[string]any{
		"apiVersion": "bitcoin.example.com/v1alpha1", "kind": "BitcoinNetwork", "metadata": map[string]any{"any": "thing"},
		"extra":  true,
		"spec":   map[string]any{"node": int64(1), "options": map[string]any{"any": "thing"}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "colour": "green"}}},
	}
	require.Equal(t, []string{"extra", "spec.node", "status.conditions[0].colour"}, custom.Prune(object))
	require.Equal(t, map[string]any{"options": map[string]any{"any": "thing"}}, object["spec"])
	require.Contains(t, object, "metadata")
}

func TestValidate_knows_every_keyword(t *testing.T) {
	for _, c := range []struct{ rules, value, problem string }{
		{"multipleOf: 2", "3", "should be a multiple of 2"},
		{"maximum: 10, exclusiveMaximum: true", "10", "should be less than 10"},
		{"format: int32", "3000000000", "must be of type integer with format int32"},
		{"not: {enum: [5]}", "5", "must not validate the schema"},
		{"oneOf: [{minimum: 1}, {minimum: 2}]", "3", "must validate one and only one schema"},
		{"anyOf: [{maximum: 1}, {minimum: 9}], allOf: [null]", "5", "must validate at least one schema"},
	} {
		t.Run(c.rules, func(t *testing.T) {
			const nodes = "nodes: {type: integer, format: int32, minimum: 0, maximum: 20, default: 3}"
			manifest := strings.Replace(customresource.Manifest(), nodes, "nodes: {type: integer, "+c.rules+"}", 1)
			require.Contains(t, manifest, c.rules)
			custom, err := crd.Parse(manifest)
			require.NoError(t, err)
			var value any
			require.NoError(t, json.UnmarshalCaseSensitivePreserveInts([]byte(c.value), &value))
			errs := custom.Validate(map[string]any{"spec": map[string]any{"version": "29.0", "nodes": value}})
			require.ErrorContains(t, errs.ToAggregate(), "spec.nodes")
			require.ErrorContains(t, errs.ToAggregate(), c.problem)
		})
	}
}
