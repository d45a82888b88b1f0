"""How far the values of two engines may be apart. Everything that is not declared here is compared as DEFAULT says.

A tolerance is (relative, absolute), both in units of the spacing of the output's type at 1 (its epsilon): values agree if they differ by at
most epsilon * (relative * |expected| + absolute * scale). The scale is that of the case: recipes of sums of products set it to a bound of the
sum of the terms' magnitudes, so that `absolute` is the number of roundings by which two orders of summation may differ; elsewhere it is 1.
Integers, strings and booleans are equal unless INTEGERS says by how many steps they may differ.
"""
import schemas

EPSILON = {1: 2.0 ** -23, 11: 2.0 ** -52, 10: 2.0 ** -10, 16: 2.0 ** -7, 17: 2.0 ** -3, 18: 2.0 ** -3, 19: 2.0 ** -2, 20: 2.0 ** -2, 23: 0.5, 24: 1.0,
           14: 2.0 ** -23, 15: 2.0 ** -52}
EXACT = (0, 0)
DEFAULT = (4, 1)


def named(text, tolerance):
    return {name: tolerance for name in text.split()}


OPERATORS = {
    # One rounding, or none: every engine has the same bits.
    **named("Abs Neg Ceil Floor Round Sign Relu Identity Not And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Max Min Clip Where Sqrt "
            "Add Sub Mul Div Reciprocal Mod IsNaN IsInf BitShift BitwiseAnd BitwiseOr BitwiseNot BitwiseXor BitCast", EXACT),
    # Data that moves, or is counted.
    **named("Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherElements GatherND ScatterElements Pad Tile Expand "
            "DepthToSpace SpaceToDepth Compress ReverseSequence Trilu CenterCropPad OneHot NonZero Unique Shape Size EyeLike TopK ArgMax ArgMin "
            "Constant ConstantOfShape MaxPool GlobalMaxPool MaxUnpool Cast CastLike NonMaxSuppression TensorScatter com.microsoft:ExpandDims "
            "com.microsoft:GatherND com.microsoft:Trilu com.microsoft:Unique com.microsoft:Pad com.microsoft:UnfoldTensor", EXACT),
    # Approximations of functions differ in their last places.
    **named("Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Sigmoid Tanh Softplus Softsign Elu Selu Celu Mish Gelu HardSwish "
            "Swish LogSoftmax Softmax Pow HannWindow HammingWindow BlackmanWindow com.microsoft:Gelu com.microsoft:FastGelu com.microsoft:QuickGelu "
            "com.microsoft:BiasGelu com.microsoft:ScaledSiLU com.microsoft:LinearAttentionGate", (32, 8)),
    # Sums: the scale is a bound of the sum of magnitudes.
    **named("MatMul Gemm Conv ConvTranspose Einsum Sum Mean ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp "
            "ReduceProd CumSum CumProd GlobalAveragePool AveragePool LpPool GlobalLpPool LpNormalization Det DFT STFT DeformConv Col2Im "
            "com.microsoft:FusedMatMul com.microsoft:FusedGemm com.microsoft:FusedConv com.microsoft:TransposeMatMul com.microsoft:MatMulNBits "
            "com.microsoft:MatMulBnb4 com.microsoft:MatMulFpQ4 com.microsoft:MatMulIntegerToFloat com.microsoft:DynamicQuantizeMatMul com.microsoft:QGemm "
            "com.microsoft:MoEGroupRouter com.microsoft:ConvTransposeWithDynamicPads com.microsoft.nchwc:Conv "
            "com.microsoft.nchwc:AveragePool com.microsoft.nchwc:GlobalAveragePool com.microsoft:WordConvEmbedding com.microsoft:Inverse "
            "com.microsoft:HyperConnectionPreMix com.microsoft:HyperConnectionPostMix", (64, 16)),
    # Normalisations divide by what they summed.
    **named("BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization "
            "com.microsoft:SkipLayerNormalization com.microsoft:SkipSimplifiedLayerNormalization com.microsoft:EmbedLayerNormalization "
            "com.microsoft:QEmbedLayerNormalization com.microsoft:GatedRMSNorm com.microsoft:BranchwiseRMSNorm com.microsoft:EngramGate", (256, 64)),
    # The oracle runs through sums of squares, and loses digits of the small ones.
    **named("LRN MeanVarianceNormalization", (4096, 4096)),
    # Long chains of the above.
    **named("LSTM GRU RNN Upsample Range com.microsoft:Range Attention RotaryEmbedding CausalConvWithState LinearAttention AffineGrid ai.onnx.ml:LinearClassifier ai.onnx.ml:LinearRegressor "
            "ai.onnx.ml:SVMClassifier ai.onnx.ml:SVMRegressor GridSample Resize RoiAlign com.microsoft:Attention com.microsoft:MultiHeadAttention "
            "com.microsoft:GroupQueryAttention com.microsoft:DecoderMaskedMultiHeadAttention com.microsoft:SparseAttention com.microsoft:LinearAttention "
            "com.microsoft:BeamSearch com.microsoft:WhisperBeamSearch "
            "com.microsoft:GatedDeltaNet com.microsoft:RotaryEmbedding com.microsoft:MRotaryEmbedding com.microsoft:CausalConvWithState "
            "com.microsoft:VarlenCausalConvWithState com.microsoft:MoE com.microsoft:QMoE com.microsoft:AttnLSTM com.microsoft:QAttention "
            "com.microsoft:DynamicQuantizeLSTM com.microsoft:GridSample com.microsoft.nchwc:Upsample", (512, 128)),
}
# Steps by which quantised results may differ: a product that lies between two integers rounds either way.
INTEGERS = named("QLinearConv QLinearMatMul com.microsoft:QLinearAdd com.microsoft:QLinearMul com.microsoft:QLinearSigmoid com.microsoft:QGemm "
                 "com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool com.microsoft:QLinearLeakyRelu com.microsoft:QLinearSoftmax "
                 "com.microsoft:QLinearConcat com.microsoft:QLinearConv com.microsoft:QLinearWhere DynamicQuantizeLinear Resize Upsample "
                 "ReduceLogSum ReduceLogSumExp ReduceL2", 1)
# The oracle computes doubles of these in float, as stash_type allows or because its tables are of floats.
IN_FLOAT = set("GroupNormalization LayerNormalization RMSNormalization DFT STFT HannWindow HammingWindow BlackmanWindow Gelu HardSwish "
               "Shrink com.microsoft:FastGelu com.microsoft:QuickGelu ai.onnx.ml:TreeEnsemble ai.onnx.ml:TreeEnsembleRegressor".split())
# Elements are drawn at random: only types and shapes are compared.
RANDOM = set("RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial".split())


def of(label, element):
    """(relative, absolute) epsilons for an operator's outputs of an element type, or whole steps as (0, steps) for integers."""
    if element in EPSILON:
        relative, absolute = OPERATORS.get(label, DEFAULT)
        epsilon = EPSILON[1 if element == 11 and label in IN_FLOAT else element]
        return relative * epsilon, absolute * epsilon
    return 0.0, float(INTEGERS.get(label, 0))


def is_random(label):
    return label in RANDOM


def name_of(element):
    return schemas.NAMES.get(element, str(element))
