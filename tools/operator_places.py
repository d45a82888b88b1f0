"""Where an operator belongs in src/ops, and what its file, its class and its type constraints are called. Everything follows
from rules, so that they also hold for an operator that nobody has written yet; new_op_test.py compares them with all that are
there."""
import functools
import glob
import os
import re

import operator_schema
from operator_schema import tensor_type

# The folder by the name of an operator: the first pattern that is found. Nearer patterns come first.
FAMILIES = [
    ("control", r"^(If|Loop|Scan|SequenceMap|External)$|Search$|Sampling$"),
    ("quant", r"[Qq]uantize|Integer|^QLinear|^QGemm|^QAttention|NBits|Bnb4|FpQ4|BFP"),
    ("loss", r"Loss$"),
    ("random", r"^Random|^Bernoulli$|^Multinomial$|Dropout"),
    ("signal", r"Window$|^S?T?FT$|^DFT$|^STFT$|^I?[Rr]fft$|^MelWeight"),
    ("recurrent", r"(RNN|GRU|LSTM)$"),
    ("image", r"Grid|Roi|^Col2Im$|^CropAndResize$"),
    ("sequence", r"^Sequence|(From|To)Sequence$|^Optional"),
    ("text", r"String|Regex|TfIdf|Tokenizer|NGram"),
    ("logic", r"^(And|Or|Xor|Not|Where|Equal|Greater|Less)(OrEqual)?$"),
    ("nn", r"[RGECS]elu$|Elu$|[Ss]oftmax|Hardmax|Sigmoid|Soft(plus|sign)$|Swish|SiLU$|Mish$|^Tanh$|^Shrink$|Conv|[Pp]ool|Norm|^LRN$|Gemm|MatMul|Attention|Embedding|Resize|Suppression|MoE|Delta|Gate$|PositionBias"),
    ("math", r"^(Reduce|Arg|Cast|Is)[A-Z]|^Bit(Cast|Shift|wise)|^Cast$|(Add|Sub|Mul|Div)(Conj)?$|Inverse|Dist$|Warping$|Hash\d*$"),
    ("shape", r"^(Expand|Constant|Flatten|EyeLike|Range|Unfold|DynamicSlice)|Padding$"),
]
# The folder of a whole domain, and else by the folder in which ONNX has the operator.
DOMAINS = {"ai.onnx.ml": "ml", "retort": "fused"}
ORIGINS = {"math": "math", "tensor": "shape", "nn": "nn", "logical": "logic", "text": "text", "sequence": "sequence"}

JOINED = {"MatMul": "Matmul", "PRelu": "Prelu", "NaN": "Nan", "MoE": "Moe"}  # one word in file names
# An operator that ai.onnx has under the same name is another form of it, which its file and its class name first.
FORMS = {"retort": "nhwc", "com.microsoft": "microsoft"}
FORM_OF = {("retort", "Attention"): "strided"}
# Kernels of these take the constraints that allow the same types as one, and keep caches in the type of what is cached.
ONE_TYPE = re.compile(r"Attention$|^(And|Or|Xor)$")
HEADERS = ("base", "tensor", "memory", "ir", "ops")


def family(name, domain, schema=None):
    """The folder; "" where nothing says it."""
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
    """Without folder and ending."""
    return "_".join(filter(None, (form(name, domain), snake(name))))


@functools.cache
def types_of_headers(root):
    """The types that headers of src define outside of kernels: an operator's class may not have such a name."""
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
    """The constraint that kernels are chosen by: the first that allows several types of tensors, or else the first if all
    constraints are of tensors, or else None."""
    used = [p.type for p in (*schema.inputs, *schema.outputs) if p.type in schema.constraints]
    tensors = [c for c in used if is_of_tensors(schema.constraints[c])]
    several = [c for c in tensors if len(schema.constraints[c]) > 1]
    return next(iter(several or (tensors if tensors == used else [])), None)


def letters(schema):
    """{type of a port: what stands behind the colon of a parameter}. T is the constraint that kernels are chosen by; a constraint of
    a single type is that type; other constraints keep their names, but T becomes U."""
    dispatch = dispatch_constraint(schema)
    told = {}
    for port in (*schema.inputs, *schema.outputs):
        allowed = schema.constraints.get(port.type, {port.type})
        single = tensor_type(next(iter(allowed))) if len(allowed) == 1 else None
        same = ONE_TYPE.search(schema.name) and (allowed == schema.constraints.get(dispatch) or port.type.endswith("_CACHE"))
        told[port.type] = "T" if port.type == dispatch or same else single or ("U" if port.type == "T" else port.type)
    return told
