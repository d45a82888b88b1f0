"""Defines how much the values of two engines may differ. Operators that are not listed have the tolerance DEFAULT.

A tolerance is (relative, absolute), both in units of epsilon, the distance of 1 to the next number of the output's type. Two values agree if they
differ by at most epsilon * (relative * |expected| + absolute * scale). The scale is Case.scale: for a sum, the recipe sets it to a bound of the sum
of the absolute values of its terms, so that `absolute` is the number of roundings by which two orders of summation may differ. Otherwise it is 1.
Integers, strings and booleans must be equal, except that integers of the operators in INTEGERS may differ by that many steps.
"""
import schemas

EPSILON = {1: 2.0 ** -23, 11: 2.0 ** -52, 10: 2.0 ** -10, 16: 2.0 ** -7, 17: 2.0 ** -3, 18: 2.0 ** -3, 19: 2.0 ** -2, 20: 2.0 ** -2, 23: 0.5, 24: 1.0,
           14: 2.0 ** -23, 15: 2.0 ** -52}
# Of 16-bit floats: both engines compute in float32 and round a few times; what goes through an exponential grows.
HALVES, HALF, HALF_OF_CHAINS = {10, 16}, (16, 4), (64, 16)
CHAINS = (512, 128)
EXACT = (0, 0)
DEFAULT = (4, 1)


def named(text, tolerance):
    return {name: tolerance for name in text.split()}


OPERATORS = {
    # Results are rounded once or not at all, so every engine computes the same bits.
    **named("Abs Neg Ceil Floor Round Sign Relu Identity Not And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Max Min Clip Where Sqrt "
            "Add Sub Mul Div Reciprocal Mod IsNaN IsInf BitShift BitwiseAnd BitwiseOr BitwiseNot BitwiseXor BitCast", EXACT),
    # These move, compare or count elements, and round nothing.
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
            "ReduceProd CumSum CumProd GlobalAveragePool AveragePool LpPool GlobalLpPool LpNormalization Det DeformConv Col2Im "
            "com.microsoft:FusedMatMul com.microsoft:FusedGemm com.microsoft:FusedConv com.microsoft:TransposeMatMul com.microsoft:MatMulNBits "
            "com.microsoft:MatMulBnb4 com.microsoft:MatMulFpQ4 com.microsoft:MatMulIntegerToFloat com.microsoft:DynamicQuantizeMatMul com.microsoft:QGemm "
            "com.microsoft:MoEGroupRouter com.microsoft:ConvTransposeWithDynamicPads com.microsoft.nchwc:Conv com.microsoft:WordConvEmbedding "
            "com.microsoft:Inverse com.microsoft:MoE com.microsoft:QMoE", (16, 4)),
    # Sums without a scale, and products with factors that the engines compute differently: angles, coordinates, steps of a transform.
    **named("DFT STFT com.microsoft.nchwc:AveragePool com.microsoft.nchwc:GlobalAveragePool com.microsoft:HyperConnectionPreMix "
            "com.microsoft:HyperConnectionPostMix Upsample Range com.microsoft:Range RotaryEmbedding com.microsoft:RotaryEmbedding "
            "com.microsoft:MRotaryEmbedding CausalConvWithState com.microsoft:CausalConvWithState com.microsoft:VarlenCausalConvWithState "
            "LinearAttention com.microsoft:LinearAttention com.microsoft:GatedDeltaNet AffineGrid GridSample com.microsoft:GridSample Resize RoiAlign "
            "com.microsoft.nchwc:Upsample ai.onnx.ml:LinearClassifier ai.onnx.ml:LinearRegressor ai.onnx.ml:SVMClassifier ai.onnx.ml:SVMRegressor",
            (64, 16)),
    # Normalisations divide by what they summed.
    **named("BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization "
            "com.microsoft:SkipLayerNormalization com.microsoft:SkipSimplifiedLayerNormalization com.microsoft:EmbedLayerNormalization "
            "com.microsoft:QEmbedLayerNormalization com.microsoft:GatedRMSNorm com.microsoft:BranchwiseRMSNorm com.microsoft:EngramGate", (128, 32)),
    # The oracle adds squares one after the other, and loses digits of the small ones.
    **named("LRN MeanVarianceNormalization", (256, 64)),
    # Exponentials of sums, and steps that depend on the one before: both magnify earlier roundings. An 8-bit code that is
    # rounded the other way is magnified, too.
    **named("LSTM GRU RNN Attention com.microsoft:Attention com.microsoft:MultiHeadAttention com.microsoft:GroupQueryAttention "
            "com.microsoft:DecoderMaskedMultiHeadAttention com.microsoft:SparseAttention com.microsoft:AttnLSTM com.microsoft:QAttention "
            "com.microsoft:DynamicQuantizeLSTM com.microsoft:BeamSearch com.microsoft:WhisperBeamSearch", CHAINS),
}
# The number of steps by which quantised results may differ: a value in the middle between two integers may round to either.
INTEGERS = named("QLinearConv QLinearMatMul com.microsoft:QLinearAdd com.microsoft:QLinearMul com.microsoft:QLinearSigmoid com.microsoft:QGemm "
                 "com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool com.microsoft:QLinearLeakyRelu com.microsoft:QLinearSoftmax "
                 "com.microsoft:QLinearConcat com.microsoft:QLinearConv com.microsoft:QLinearWhere DynamicQuantizeLinear Resize Upsample "
                 "ReduceLogSum ReduceLogSumExp ReduceL2 com.microsoft:GroupQueryAttention", 1)
# The oracle computes doubles of these in float, as stash_type allows or because its tables are of floats.
IN_FLOAT = set("GroupNormalization LayerNormalization RMSNormalization DFT STFT HannWindow HammingWindow BlackmanWindow Gelu HardSwish "
               "Shrink Attention com.microsoft:FastGelu com.microsoft:QuickGelu ai.onnx.ml:TreeEnsemble ai.onnx.ml:TreeEnsembleRegressor".split())
# The elements are random: only types and shapes are compared.
RANDOM = set("com.microsoft:BiasDropout com.microsoft:BitmaskDropout com.microsoft:BitmaskBiasDropout RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial".split())


def of(label, element):
    """(relative, absolute) epsilons for an operator's outputs of an element type, or whole steps as (0, steps) for integers."""
    if element in EPSILON:
        relative, absolute = OPERATORS.get(label, DEFAULT)
        if element in HALVES:
            most = HALF_OF_CHAINS if (relative, absolute) == CHAINS else HALF
            relative, absolute = min(relative, most[0]), min(absolute, most[1])
        epsilon = EPSILON[1 if element == 11 and label in IN_FLOAT else element]
        return relative * epsilon, absolute * epsilon
    return 0.0, float(INTEGERS.get(label, 0))


def is_random(label):
    return label in RANDOM


def name_of(element):
    return schemas.NAMES.get(element, str(element))
