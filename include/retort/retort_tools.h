/* Functions for tools, beyond loading and running models. The functions are not exported by name: OrtApi's
 * GetExperimentalFunction returns them, or null if the library behind the interface is another one:
 *
 *   RetortDescribeModel describe = (RetortDescribeModel)api->GetExperimentalFunction("RetortDescribeModel");
 *
 * Conventions are those of the C interface: null or an OrtStatus, which the caller releases; a failed call leaves its
 * out-parameters alone; texts are UTF-8, made by `allocator` and freed with its Free. Thread-safe. */
#ifndef RETORT_TOOLS_H
#define RETORT_TOOLS_H

#include "onnxruntime_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Describes a model file as a JSON object. It does not run the model or pack weights.
 *
 * Options, `count` pairs of key and value: "shape.<input>" = "1x3x224x224";
 * "shape.<extent>" = "4" for an extent that the model names; "level" = "0", "1", "2", "3" or "99", as
 * GraphOptimizationLevel; "disable" = name of a pass or rule to leave out (may be repeated).
 *
 *   name, doc, domain, producer, producer_version, ir_version, model_version?, metadata {key: text}
 *   opsets {domain: version}, functions [name]
 *   assumed {extent: 1}: free extents of inputs, and the number that calculations use for each
 *   graph: the model's own nodes, functions expanded. optimized: the graph that runs.
 *     name; inputs, outputs: indices into values
 *     values [{name, type: "float32[batch,3]", bytes?, constant?}]
 *     nodes  [{name, op, domain, version, inputs, outputs: indices or -1, attributes {name: text}, origins? [names of
 *             the model's nodes that it came from], runs?: of nodes of `optimized`: by a "kernel" of its own, by the
 *             plain loop ("reference"), or by the plain loop in a wider type ("converted"), computes?: the element type
 *             that chose it, operations?: arithmetic, a multiply-add counts as 2; absent if a shape is not known,
 *             bodies? {attribute: graph}}], producers first
 *   passes [{name, milliseconds, nodes_before, nodes_after, changes, counts {rule or change: times}}]: the passes that
 *           ran, in order; changes is the sum of counts. passes_total {milliseconds, changes}: of all of them
 *   problem: only if the engine cannot run the model: the reason; optimized, passes, passes_total and memory are
 *           absent then
 *   memory {weights, values_at_once: bytes; at: the node where most memory is in use; complete: false if sizes that
 *           depend on data are left out} */
typedef OrtStatusPtr(ORT_API_CALL* RetortDescribeModel)(const char* model, const char* const* keys,
                                                        const char* const* values, size_t count,
                                                        OrtAllocator* allocator, char** json) NO_EXCEPTION;

/* Lists the operators that the library implements, as a JSON array of
 *   {name, domain, versions [operator set versions in which its definition changed], inputs, outputs ["name: T?"],
 *    any_type: no parameter is restricted by `types`, types [with a kernel of their own], reference [computed by a plain
 *    loop], converted [computed by a plain loop in a wider type], providers [names]}
 * and {name, domain, versions, rewritten: true} for operators that loading replaces by others. */
typedef OrtStatusPtr(ORT_API_CALL* RetortListOperators)(OrtAllocator* allocator, char** json) NO_EXCEPTION;

/* Lists the names that settings take, as a JSON object:
 *   config_keys [keys of session configuration entries, see docs/config.md]
 *   passes [names of optimisation passes and rules that can be left out] */
typedef OrtStatusPtr(ORT_API_CALL* RetortListNames)(OrtAllocator* allocator, char** json) NO_EXCEPTION;

/* Writes the model `from` to `to`, unchanged, in the format "ONNX" or "ORT"; with "", the name decides: "ORT" for a
 * name that ends in .ort, otherwise "ONNX". In ONNX, weights of `threshold` bytes and more go into the file
 * `external` beside `to`; if `external` is "", all weights are inside. An existing file is replaced completely or
 * not at all. */
typedef OrtStatusPtr(ORT_API_CALL* RetortWriteModel)(const char* from, const char* to, const char* format,
                                                     const char* external, size_t threshold) NO_EXCEPTION;

/* Lists what the engine has copied by itself since the session was created, as a JSON object:
 *   total_bytes
 *   copies [{tensor, cause, direction, from, to, bytes, count}], in the order of the first copies
 * cause: "bind_input" (bound in another memory than the plan reads it from), "run_input" (the same for an argument of a
 * run, or an argument at an address that is not aligned for its elements), "border" (made by one provider, read by another),
 * "output" (bound in another memory than it is made in), "alias" (bound over an input that is still needed), "dynamic"
 * (its size depends on data, and it did not fit in place). direction: "host_to_host", "host_to_device",
 * "device_to_host" or "device_to_device". */
typedef OrtStatusPtr(ORT_API_CALL* RetortSessionCopies)(const OrtSession* session, OrtAllocator* allocator,
                                                        char** json) NO_EXCEPTION;

/* Lists the execution providers of a session, however they were chosen, in the order in which they claim nodes, as a
 * JSON array of names. The CPU, which runs what none of them claims, is not listed. */
typedef OrtStatusPtr(ORT_API_CALL* RetortSessionProviders)(const OrtSession* session, OrtAllocator* allocator,
                                                           char** json) NO_EXCEPTION;

/* The entries of a map where they lie, for bindings that make objects of another language of them. Nothing may write
 * there, and the addresses are valid until the container is released. Maps with the same `keys` have equal keys, as the
 * maps that ZipMap makes. GetValue reads strings: their address only tells which maps have equal keys. */
typedef struct RetortMapEntries {
  size_t count;                                   /* 0 if the value is not a map */
  ONNXTensorElementDataType key_type, value_type; /* undefined if the value is not a map */
  const void* keys;                               /* `count` elements of key_type, without repetitions */
  const void* values;                             /* `count` elements of value_type */
} RetortMapEntries;

/* Reads value `index` of a sequence; of any other value, 0 is the value itself. Fails for another index, and for null
 * arguments. Any number of threads may read a container that none writes. */
typedef OrtStatusPtr(ORT_API_CALL* RetortReadMap)(const OrtValue* container, size_t index,
                                                  RetortMapEntries* entries) NO_EXCEPTION;

#ifdef __cplusplus
}
#endif
#endif
