/* What tools ask of Retort beyond loading and running. The functions are not exported by name: OrtApi's
 * GetExperimentalFunction gives them, or null where another library stands behind the interface:
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

/* A model file in words and numbers, as a JSON object. Nothing runs, no weight is packed.
 *
 * Options, `count` pairs of key and value: "shape.<input>" = "1x3x224x224"; "level" = "0", "1", "2", "3" or "99", as
 * GraphOptimizationLevel; "disable" = name of a pass or rule to leave out (may be repeated).
 *
 *   name, doc, domain, producer, producer_version, ir_version, model_version, metadata {key: text}
 *   opsets {domain: version}, functions [name]
 *   assumed {extent: 1}: free extents of inputs, which count as this in numbers
 *   graph: the model's own nodes, functions expanded. optimized: what runs.
 *     name; inputs, outputs: indices into values
 *     values [{name, type: "float32[batch,3]", bytes?, constant?}]
 *     nodes  [{name, op, domain, version, inputs, outputs: indices or -1, attributes {name: text}, origins? [names of the
 *             model's nodes that it came from], operations?: arithmetic, a multiply-add is 2; absent where a shape is
 *             not known, bodies? {attribute: graph}}], producers first
 *   passes [{name, milliseconds, nodes_before, nodes_after, changes, counts {rule or change: times}}]: all that ran, in
 *           order; changes is the sum of counts. passes_total {milliseconds, changes}: of all of them
 *   problem: only where the engine cannot run the model: why; then optimized, passes, passes_total and memory are
 *           absent
 *   memory {weights, values_at_once: bytes; at: the node where most is alive; complete: false where sizes that only
 *           the data tells are left out} */
typedef OrtStatusPtr(ORT_API_CALL* RetortDescribeModel)(const char* model, const char* const* keys,
                                                        const char* const* values, size_t count,
                                                        OrtAllocator* allocator, char** json) NO_EXCEPTION;

/* The operators that the library implements, as a JSON array of
 *   {name, domain, versions [operator set versions in which its definition changed], inputs, outputs ["name: T?"],
 *    any_type: no parameter is restricted by `types`, types [with a kernel], converted [computed in a wider type],
 *    providers [names]}
 * and {name, domain, rewritten: true} for those that loading replaces by others. */
typedef OrtStatusPtr(ORT_API_CALL* RetortListOperators)(OrtAllocator* allocator, char** json) NO_EXCEPTION;

/* Writes the model `from` to `to`, as it is, in the format "ONNX" or "ORT", or with "" in the one that the name asks for:
 * ORT format where it ends in .ort. Of ONNX, weights of `threshold` bytes and more go into the file `external` beside `to`,
 * or all inside where `external` is "". A file that is replaced appears whole or not at all. */
typedef OrtStatusPtr(ORT_API_CALL* RetortWriteModel)(const char* from, const char* to, const char* format,
                                                     const char* external, size_t threshold) NO_EXCEPTION;

/* What the engine has copied on its own account since the session was created, as a JSON object:
 *   total_bytes
 *   copies [{tensor, cause, direction, from, to, bytes, count}], in the order of the first copies
 * cause: "bind_input" (bound in another memory than the plan reads it from), "run_input" (given to a run so, or at an
 * address that does not suit its elements), "border" (made by one provider, read by another), "output" (wanted in another
 * memory than it is made in), "alias" (bound over an input that is still needed), "dynamic" (sized by the data, and it did
 * not fit in place). direction: "host_to_host", "host_to_device", "device_to_host" or "device_to_device". */
typedef OrtStatusPtr(ORT_API_CALL* RetortSessionCopies)(const OrtSession* session, OrtAllocator* allocator,
                                                        char** json) NO_EXCEPTION;

#ifdef __cplusplus
}
#endif
#endif
