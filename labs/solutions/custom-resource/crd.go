package customresource

// This file has the definition of the resource for the API server. A user applies it once for a cluster. From then on,
// the API server serves the resource: it fills in defaults, refuses invalid objects, and drops unknown fields.

// Manifest returns a CustomResourceDefinition in YAML. Its names, group and version are those of the Go types.
//
// A network without chain or nodes gets the defaults. A network with 0 nodes keeps them. A field of the Go types is
// stored as it was sent, with any value that its comment does not exclude. A field that the Go types do not have is not
// stored. A network without a version is refused. A network with a value that its field's comment excludes is refused,
// and so is one that the Go types cannot decode. An update of a network never changes its status, and an update of the
// status never changes anything else. A network's name has at most 63 characters, because the name becomes the value of
// a label.
//
//workshop:task 2
func Manifest() string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: bitcoinnetworks.bitcoin.example.com
spec:
  group: bitcoin.example.com
  scope: Namespaced
  names:
    kind: BitcoinNetwork
    listKind: BitcoinNetworkList
    plural: bitcoinnetworks
    singular: bitcoinnetwork
    shortNames: [btc]
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources:
      status: {}
    additionalPrinterColumns:
    - {name: Chain, type: string, jsonPath: .spec.chain}
    - {name: Nodes, type: integer, jsonPath: .spec.nodes}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          metadata:
            type: object
            properties:
              name: {type: string, maxLength: 63}
          spec:
            type: object
            required: [version]
            properties:
              chain: {type: string, enum: [main, test, regtest], default: regtest}
              nodes: {type: integer, format: int32, minimum: 0, maximum: 20, default: 3}
              version: {type: string, pattern: '^[0-9]+\.[0-9]+$'}
              peers:
                type: array
                maxItems: 8
                x-kubernetes-list-type: set
                items: {type: string}
              options:
                type: object
                additionalProperties: {type: string}
          status:
            type: object
            properties:
              observedGeneration: {type: integer, format: int64}
              readyNodes: {type: integer, format: int32}
              registeredChain: {type: string}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, lastTransitionTime, reason, message]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    observedGeneration: {type: integer, format: int64}
                    lastTransitionTime: {type: string, format: date-time}
                    reason: {type: string}
                    message: {type: string}
`
}
