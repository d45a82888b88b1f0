"""Finds the folder of an operator in src/ops, and the names of its file, its class and its type constraints. Everything
follows from rules, so that they also hold for an operator that does not exist yet; new_op_test.py compares them with
all existing operators."""
import functools
import glob
import os
import re

import operator_schema
from operator_schema import tensor_type

# Folders by a pattern of operator names. The first pattern that matches counts, so narrower patterns come first.
FAMILIES = [
    ("control", r"^(If|Loop|Scan|SequenceMap|External)$"),
    ("search", r"Search$|Sampling$"),
    ("recurrent", r"(RNN|GRU|LSTM)$"),
    ("quant", r"[Qq]uantize|Integer|^GatherPacked$|^QMoE$|^QLinear|^QGemm|^QAttention|NBits|Bnb4|FpQ4|BFP"),
    ("loss", r"Loss$"),
    ("random", r"^Random|^Bernoulli$|^Multinomial$|Dropout"),
    ("signal", r"Window$|^S?T?FT$|^DFT$|^STFT$|^I?[Rr]fft$|^MelWeight|Warping$"),
    ("image", r"Grid|Roi|^Col2Im$|^CropAndResize$|^ImageDecoder$"),
    ("sequence", r"^Sequence|(From|To)Sequence$|^Optional"),
    ("text", r"String|Regex|TfIdf|Tokenizer|NGram|Hash\d*$|^Word[A-Z]|Bifurcation"),
    ("logic", r"^(And|Or|Xor|Not|Where|Equal|Greater|Less)(OrEqual)?$"),
    ("nn", r"[RGECS]elu$|Elu$|[Ss]oftmax|Hardmax|Sigmoid|Soft(plus|sign)$|Swish|SiLU$|Mish$|^Tanh$|^Shrink$|Conv|[Pp]ool|Norm|^LRN$|Gemm|MatMul|Attention|Embedding|Resize|Suppression|MoE|Delta|^Gated|Gate$|^HyperConnection|PositionBias"),
    ("math", r"^(Reduce|Arg|Cast|Is)[A-Z]|^Bit(Cast|Shift|wise)|^Cast$|(Add|Sub|Mul|Div)(Conj)?$|Inverse|Dist$"),
    ("shape", r"^(Expand|Constant|Flatten|EyeLike|Range|Unfold|DynamicSlice)|Padding$"),
]
# The folder of a whole domain; for other operators, the one that corresponds to the operator's folder in ONNX.
DOMAINS = {"ai.onnx.ml": "ml", "retort": "fused"}
ORIGINS = {"math": "math", "tensor": "shape", "nn": "nn", "logical": "logic", "text": "text", "sequence": "sequence"}

JOINED = {"MatMul": "Matmul", "PRelu": "Prelu", "NaN": "Nan", "MoE": "Moe", "SiLU": "Silu", "NGram": "Ngram"}  # each is one word in file names
# An operator that has the same name in ai.onnx is another form of that one. The names of its file and class begin with
# the form.
FORMS = {"retort": "nhwc", "com.microsoft": "microsoft"}
FORM_OF = {("retort", "Attention"): "strided", ("retort", "QLinearConv"): "biased"}
# Kernels of these operators treat constraints with the same types as one (but QK, that of the scores), and keep a cache
# in the type of the cached values.
ONE_TYPE = re.compile(r"(?<!Linear)Attention$|^(And|Or|Xor)$")
HEADERS = ("base", "tensor", "memory", "ir", "ops")


def family(name, domain, schema=None):
    """The folder; "" if no rule names one."""
    by_name = next((folder for folder, pattern in FAMILIES if re.search(pattern, name)), "")
    if domain in DOMAINS:
        return "control" if by_name == "control" else DOMAINS[domain]
    known = schema if schema and schema.folder else operator_schema.onnx_schema(name, "")
    return by_name or (ORIGINS.get(known.folder, "") if known else "")


def snake(name):
    for word, joined in JOINED.items():
        name = name.replace(word, joined)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@functools.cache
def form(name, domain):
    """"nhwc" for retort.Conv, "" for an operator whose name ai.onnx does not have."""
    if domain not in FORMS or not operator_schema.onnx_schema(name, ""):
        return ""
    return FORM_OF.get((domain, name), FORMS[domain])


def file_name(name, domain):
    """The name of the operator's file, without folder and extension."""
    return "_".join(filter(None, (form(name, domain), snake(name))))


@functools.cache
def types_of_headers(root):
    """The types that headers of src define outside kernels. An operator's class may not have one of these names."""
    found = set()
    for room in HEADERS:
        for path in glob.glob(os.path.join(root, "src", room, "**", "*.h"), recursive=True):
            with open(path, encoding="utf-8") as f:
                found.update(re.findall(r"^(?:struct|class|enum class) (\w+)", f.read(), re.M))
    return found


def class_name(name, domain, root):
    word = re.sub(r"^[A-Z]{2,}(?=[A-Z][a-z]|$)", lambda m: m[0].capitalize(), name)  # SVMRegressor: SvmRegressor
    word = form(name, domain).capitalize() + word
    return word + "Op" if word in types_of_headers(root) else word


def is_of_tensors(types):
    return all(map(tensor_type, types))


def dispatch_constraint(schema):
    """The constraint by which kernels are chosen: the first that allows several types of tensors; otherwise the first,
    if all constraints are of tensors; otherwise None."""
    used = [p.type for p in (*schema.inputs, *schema.outputs) if p.type in schema.constraints]
    tensors = [c for c in used if is_of_tensors(schema.constraints[c])]
    several = [c for c in tensors if len(schema.constraints[c]) > 1]
    return next(iter(several or (tensors if tensors == used else [])), None)


def letters(schema):
    """{type of a port: the text after the colon of a parameter}. T is the constraint by which kernels are chosen; a
    constraint of a single type is that type; other constraints keep their names, but T becomes U."""
    dispatch = dispatch_constraint(schema)
    told = {}
    for port in (*schema.inputs, *schema.outputs):
        allowed = schema.constraints.get(port.type, {port.type})
        single = tensor_type(next(iter(allowed))) if len(allowed) == 1 else None
        same = ONE_TYPE.search(schema.name) and port.type != "QK" and (allowed == schema.constraints.get(dispatch) or port.type.endswith("_CACHE"))
        told[port.type] = "T" if port.type == dispatch or same else single or ("U" if port.type == "T" else port.type)
    return told
