// The layout of com.microsoft.nchwc: an image with the declared shape [N, C, H, W] is stored in blocks of b channels,
// as [N, C/b, H, W, b]. Models that ONNX Runtime's optimiser saved have such values. Lifting removes the layout between
// the operators of that domain; it remains only for blocked values that other operators read.
#pragma once
#include "lift/rewriter.h"

namespace retort {

/// Number of channels per block, for all nodes of the graph. It depends on the processor on which the model was saved:
/// that is assumed to be this one, unless the weights show another block size.
int64_t channel_block(Rewriter& r);

/// The plain image of a blocked value. If its producer was lifted before (elementwise operators and concatenations may
/// lie between), that value is returned; otherwise nodes are added that change the order of the elements.
ValueId plain_image(Rewriter& r, ValueId blocked);
/// The blocked form of an image.
ValueId blocked_image(Rewriter& r, ValueId plain);
/// The weights of a convolution as [M, C, kH, kW]. They are given with their outputs in blocks, and also their inputs
/// if there are at least as many as a block has.
ValueId plain_weights(Rewriter& r, ValueId blocked);

}  // namespace retort
