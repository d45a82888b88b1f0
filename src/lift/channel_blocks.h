// The layout of com.microsoft.nchwc: images whose channels lie in blocks, [N, C/b, H, W, b], under the shape [N, C, H, W].
// ONNX Runtime's optimiser saves models with it. Here a graph has it only where a blocked value leaves the operators of that
// domain; between them the layout is folded away.
#pragma once
#include "lift/rewriter.h"

namespace retort {

/// Channels of a block, for all nodes of the graph: that of the processor that the model was saved on, which is this one
/// unless the weights tell that it was another.
int64_t channel_block(Rewriter& r);

/// The image behind a blocked value. The producer that was lifted before has it, also behind elementwise operators and
/// concatenations; else the value is brought into order.
ValueId plain_image(Rewriter& r, ValueId blocked);
/// The blocked form of an image.
ValueId blocked_image(Rewriter& r, ValueId plain);
/// [M, C, kH, kW] of the weights of a convolution whose outputs, and inputs if there are as many as a block, lie in blocks.
ValueId plain_weights(Rewriter& r, ValueId blocked);

}  // namespace retort
